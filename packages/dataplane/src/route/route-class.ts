/**
 * Why we want a route. Where several classes want the same network, the first of this list has it; the next one follows
 * when it gives way.
 */
export const ROUTE_CLASSES = [
  "local-workload",
  "wireguard",
  "vxlan-same-subnet",
  "vxlan-tunnel",
  "ipip-same-subnet",
  "ipip-tunnel",
  "no-encap",
  "blackhole-vxlan",
  "blackhole-ipip",
  "blackhole-no-encap",
] as const;

export type RouteClass = (typeof ROUTE_CLASSES)[number];

/** A route as wanted, without its interface. */
export interface RouteTarget {
  /** Canonical CIDR. */
  readonly destination: string;
  readonly protocol: number;
  readonly metric: number;
  readonly type: "unicast" | "blackhole";
  readonly scope: "link" | "universe";
  readonly source?: string;
  readonly via?: string;
  readonly onlink?: boolean;
  /** Of the tunnel that it goes by, in bytes. */
  readonly mtu?: number;
}

/** Stands for the interface of routes that have none. */
export const NO_INTERFACE = "";
