/** A key of WireGuard in the base64 text of `wg`: 44 characters for 32 bytes. */
type WireguardKey = string;

/** Another end, as the kernel lists it. */
export interface WireguardPeer {
  readonly publicKey: WireguardKey;
  /** Where its packets go: "192.0.2.1:51820", "[fd00::1]:51820". Absent: nobody has said yet. */
  readonly endpoint?: string;
  /** CIDRs of the packets that come from it and go to it. */
  readonly allowedIps: readonly string[];
  /** So often an empty packet goes to it. 0: never. */
  readonly keepaliveSeconds: number;
  /** Seconds since 1970; 0 for never. */
  readonly lastHandshakeSeconds: number;
  readonly receivedBytes: bigint;
  readonly sentBytes: bigint;
}

/** A device of kind "wireguard", as the kernel lists it. */
export interface WireguardDevice {
  readonly index: number;
  readonly name: string;
  /** All zeros, or absent: none. */
  readonly privateKey?: WireguardKey;
  readonly publicKey?: WireguardKey;
  /** UDP port that it listens at. 0: none yet. */
  readonly port: number;
  /** Of its own outer packets. 0: none. */
  readonly mark: number;
  readonly peers: readonly WireguardPeer[];
}

/** What to change of a peer. */
export type WireguardPeerChange =
  | { readonly publicKey: WireguardKey; readonly remove: true }
  | {
      readonly publicKey: WireguardKey;
      readonly endpoint?: string;
      /** 0 to 65535. */
      readonly keepaliveSeconds?: number;
      /** Replaces all that it had. A network that another peer had moves here. */
      readonly allowedIps?: readonly string[];
      readonly remove?: false;
    };

/** What to change of a device: only what is given. */
export interface WireguardChange {
  readonly name: string;
  /** All zeros: none from now on. A peer with the same key goes. */
  readonly privateKey?: WireguardKey;
  readonly port?: number;
  readonly mark?: number;
  /** Peers that are not named stay, unless `replacePeers` is set. */
  readonly peers?: readonly WireguardPeerChange[];
  /** True: peers that are not named go. */
  readonly replacePeers?: boolean;
}

/** WireGuard of one network namespace, where the kernel has it. One thread at a time; the caller closes it. */
export interface WireguardConnection {
  /** `undefined` when there is no such device, or it is of another kind. */
  device(name: string): WireguardDevice | undefined;
  /** All at once. Throws NETLINK_REFUSED (ENODEV where there is no such device); many peers go in several messages, in order. */
  change(change: WireguardChange): void;
  close(): void;
}
