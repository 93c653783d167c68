/** A VXLAN device to make (RFC 7348). */
export interface VxlanLink {
  readonly name: string;
  readonly mac?: string;
  readonly mtu?: number;
  readonly up?: boolean;
  /** 0 to 16777215. */
  readonly vni: number;
  /** UDP port, of this end and of the others. */
  readonly port: number;
  /** Source address of the outer packets; its family is that of the tunnel. */
  readonly local?: string;
  /** Index of the device that outer packets leave by. Default: as routes say. */
  readonly parent?: number;
  /** Learn from packets where MAC addresses are. Default: no, forwarding entries say it. */
  readonly learning?: boolean;
}

/** How a VXLAN device is set up, as the kernel lists it. */
export interface VxlanInfo {
  readonly vni: number;
  readonly port: number;
  readonly local?: string;
  readonly parent?: number;
  /** Multicast group or the one peer. */
  readonly group?: string;
  readonly learning: boolean;
  readonly l2miss: boolean;
  /** Group policy extension. */
  readonly gbp: boolean;
  /** The tunnel's parameters come with each packet (flow based). */
  readonly external: boolean;
}
