import type { NetlinkError } from "../errors.ts";
import type { InterfaceAddress } from "./address.ts";
import type { Link } from "./link.ts";
import type { Neighbour } from "./neighbour.ts";
import type { RouteOperation } from "./operation.ts";
import type { Filter, Qdisc } from "../tc/qdisc.ts";
import type { Route } from "./route.ts";
import type { RoutingRule } from "./rule.ts";

/**
 * One operation that the kernel refused, or that could not be encoded (NETLINK_ARGUMENT). Those after it were tried all
 * the same.
 */
export interface OperationFailure {
  /** Index into the operations that were handed in. */
  readonly index: number;
  readonly operation: RouteOperation;
  readonly error: NetlinkError;
}

/**
 * The routing side of one network namespace: links, addresses, routes, neighbours, rules, queues. Every call is synchronous and
 * finished when it returns. One thread at a time.
 */
export interface RouteConnection {
  /** Throws NETLINK_DUMP_INTERRUPTED when the kernel's tables kept changing, as all listings do. */
  links(): Link[];
  /** The link of this name or index, or `undefined` when there is none. */
  link(which: number | string): Link | undefined;
  addresses(filter?: { readonly device?: number; readonly family?: 4 | 6 }): InterfaceAddress[];
  /** Default table: 254 (main); `"all"` for every table. */
  routes(filter?: {
    readonly family?: 4 | 6;
    readonly table?: number | "all";
    readonly device?: number;
    readonly protocol?: number;
  }): Route[];
  /** Neighbours of IPv4 and IPv6, or the bridge forwarding entries. */
  neighbours(filter?: {
    readonly family?: 4 | 6;
    readonly device?: number;
    readonly forwarding?: boolean;
  }): Neighbour[];
  /** Rules of policy routing that ask a table, by mark and source; those with other conditions are left out. */
  rules(family: 4 | 6): RoutingRule[];
  /** Queueing disciplines of all devices. */
  qdiscs(): Qdisc[];
  /** Filters of the device's ingress qdisc; none when it has no such qdisc, or is gone. */
  ingressFilters(device: number): Filter[];
  /**
   * Writes in order, in few system calls. Unlike an nf_tables batch this is not atomic: each operation works or fails
   * by itself, and the failures come back by index. Throws only where nothing is known about the outcome.
   */
  apply(operations: readonly RouteOperation[]): OperationFailure[];
  /** Like `apply` for one operation, but throws its failure. */
  write(operation: RouteOperation): void;
  /** Closes the socket. No call may follow it. */
  close(): void;
}
