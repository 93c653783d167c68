import type { VxlanInfo } from "./vxlan.ts";

/** A network device as the kernel lists it. */
export interface Link {
  readonly index: number;
  readonly name: string;
  /** Administratively up (IFF_UP). */
  readonly up: boolean;
  /** Operationally up (IFF_RUNNING). */
  readonly running: boolean;
  /** All IFF_ bits. */
  readonly flags: number;
  readonly mtu: number;
  /** "aa:bb:cc:dd:ee:ff", where the device has a six-byte address. */
  readonly mac?: string;
  /** "veth", "vxlan", "bridge"; missing for plain devices. */
  readonly kind?: string;
  /** Index of the device below, or of a veth's other end. */
  readonly parent?: number;
  /** Of kind "vxlan". */
  readonly vxlan?: VxlanInfo;
  /** Index of the bridge or bond that it is part of. */
  readonly master?: number;
}

/** A veth pair to make. Addresses of the hardware kind are the kernel's choice where they are not given. */
export interface VethPair {
  readonly name: string;
  readonly mac?: string;
  readonly mtu?: number;
  readonly up?: boolean;
  readonly peer: {
    readonly name: string;
    readonly mac?: string;
    readonly mtu?: number;
    /** An open file descriptor of the namespace that gets the peer. Default: this one. */
    readonly namespaceFd?: number;
  };
}

/** A device of a kind that is made without settings of its own. A kind that the kernel lacks is refused: EOPNOTSUPP. */
export interface PlainLink {
  readonly name: string;
  /** What arrives at an `ifb` leaves by its queue; `ipip` and `wireguard` are tunnels. */
  readonly kind: "ifb" | "ipip" | "wireguard";
  readonly mtu?: number;
  readonly up?: boolean;
}

/** What to change of a link: only what is given. */
export interface LinkChange {
  readonly up?: boolean;
  readonly mtu?: number;
  readonly mac?: string;
  /** New name; the device must be down for it on older kernels. */
  readonly name?: string;
  /** Moves the device to this namespace (an open file descriptor). It arrives down. */
  readonly namespaceFd?: number;
  /** Index of the bridge to join; 0 leaves it. */
  readonly master?: number;
}
