/** A rule of policy routing: which packets are routed by which table (ip-rule(8)). */
export interface RoutingRule {
  readonly family: 4 | 6;
  /** Lower ones are asked first. 0 to 4294967295. */
  readonly priority: number;
  readonly table: number;
  /** Packets whose mark, of the bits of `mask`, is `value`. */
  readonly mark?: { readonly value: number; readonly mask: number };
  /** CIDR of the source. */
  readonly source?: string;
  /** The packets that do not match. */
  readonly invert?: boolean;
  /** RTPROT_ number of who made it. Default: 0, unspecified. */
  readonly protocol?: number;
}
