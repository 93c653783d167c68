/** An address of a device. */
export interface InterfaceAddress {
  /** Index of the interface. */
  readonly device: number;
  /** Address and length: "10.0.0.1/32". */
  readonly address: string;
  /** The other end of a point-to-point link. */
  readonly peer?: string;
  readonly scope?: RouteScope;
  /** IFA_F_ bits; `permanent` is 0x80. Read-back only. */
  readonly flags?: number;
  /**
   * Who wrote it, as IFA_PROTO: the kernel itself has 1 to 3 (IFAPROT_). Kernels older than 5.18 forget it; absent where
   * nobody said so.
   */
  readonly protocol?: number;
  /** Skip duplicate address detection (IPv6), so that the address can be used at once. Write only. */
  readonly noDad?: boolean;
  /** The kernel makes no route to the address's network. Write only. */
  readonly noPrefixRoute?: boolean;
}

/** How far a destination is, by ip(8)'s names but for "universe" (global); RT_SCOPE_ of linux/rtnetlink.h. */
export type RouteScope = "universe" | "site" | "link" | "host" | "nowhere";
