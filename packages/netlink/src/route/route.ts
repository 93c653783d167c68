import type { RouteScope } from "./address.ts";

/** RTN_ of linux/rtnetlink.h, by ip(8)'s names. */
export type RouteType =
  | "unicast"
  | "local"
  | "broadcast"
  | "anycast"
  | "multicast"
  | "blackhole"
  | "unreachable"
  | "prohibit"
  | "throw"
  | "nat";

/** One hop of a multipath route. */
export interface NextHop {
  /** Index of the interface. */
  readonly device?: number;
  readonly via?: string;
  readonly onlink?: boolean;
  /** 1 to 256. Default 1. */
  readonly weight?: number;
}

/** A route, to write or as listed. The family is that of `destination`. */
export interface Route {
  /** Canonical CIDR; "0.0.0.0/0" and "::/0" for the default route. */
  readonly destination: string;
  /** Default "unicast". */
  readonly type?: RouteType;
  /** Interface index. */
  readonly device?: number;
  /** Gateway address. May be of the other family (IPv4 by an IPv6 gateway). */
  readonly via?: string;
  /** Believe that `via` is on the link, though no route says so. */
  readonly onlink?: boolean;
  /** Preferred source address. */
  readonly source?: string;
  /** Default: "link" for an IPv4 route without `via`, "universe" otherwise. IPv6 knows "universe" only. */
  readonly scope?: RouteScope;
  /** RTPROT_ number: kernel 2, boot 3, static 4, ours 80. Default 3 when written; 0 in a delete means any. */
  readonly protocol?: number;
  /** Default 254 (main). */
  readonly table?: number;
  /** Lower wins. IPv6 reads 0 as 1024. */
  readonly metric?: number;
  readonly mtu?: number;
  readonly tos?: number;
  readonly hops?: readonly NextHop[];
  /** RTNH_F_ bits as listed: dead 1, pervasive 2, onlink 4, linkdown 16. */
  readonly flags?: number;
}
