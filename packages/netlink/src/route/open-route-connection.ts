import { must } from "@bulrush/base";
import { hasErrno, NETLINK_ERROR_CODES, NetlinkError } from "../errors.ts";
import { NETLINK_ROUTE, NLM_F } from "../message/header.ts";
import { refusal } from "../message/kernel-answer.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { NetlinkSocket, type NetlinkSocketOptions } from "../socket/netlink-socket.ts";
import type { InterfaceAddress } from "./address.ts";
import { decodeAddress, writeAddressFilter } from "./address-codec.ts";
import { AF_BRIDGE, AF_UNSPEC, RTM } from "./constants.ts";
import type { Link } from "./link.ts";
import { decodeLink, writeLinkBody, writeLinkSelector } from "./link-codec.ts";
import type { Neighbour } from "./neighbour.ts";
import { decodeNeighbour, writeNeighbourFilter } from "./neighbour-codec.ts";
import type { RouteOperation } from "./operation.ts";
import { describeRouteOperation, writeOperation } from "./operation-codec.ts";
import type { Route } from "./route.ts";
import { decodeRoute, writeRouteFilter } from "./route-codec.ts";
import type { OperationFailure, RouteConnection } from "./route-connection.ts";
import type { RoutingRule } from "./rule.ts";
import { decodeRule, writeRuleFilter } from "./rule-codec.ts";
import { decodeFilter } from "../tc/filter-codec.ts";
import { type Filter, INGRESS_HANDLE, type Qdisc } from "../tc/qdisc.ts";
import { decodeQdisc, writeTcBody } from "../tc/qdisc-codec.ts";
import { kernelFamily } from "./text-codec.ts";

/**
 * Operations in one write. 40 to 400 cost the same per operation; more only block the thread longer (3-6 ms at 400),
 * and each failing one takes about a kilobyte of receive buffer.
 */
const OPERATIONS_PER_WRITE = 200;
const RT_TABLE_MAIN = 254;

/** Opens the routing side of a network namespace. The caller closes it. Throws NETLINK_SYSCALL. */
export function openRouteConnection(options: Pick<NetlinkSocketOptions, "namespace"> = {}): RouteConnection {
  const socket = NetlinkSocket.open(NETLINK_ROUTE, options);
  const batch = new MessageWriter(16 * 1024);

  function links(): Link[] {
    return socket.dump("List links", RTM.GETLINK, (writer) => writeLinkBody(writer), decodeLink);
  }

  function link(which: number | string): Link | undefined {
    let found: Link | undefined;
    try {
      socket.request(
        "Get link",
        RTM.GETLINK,
        0,
        (writer) => writeLinkSelector(writer, which),
        (message) => {
          if (message.type === RTM.NEWLINK) found = decodeLink(message);
        },
      );
    } catch (error) {
      if (hasErrno(error, "ENODEV")) return undefined;
      throw error;
    }
    return found;
  }

  function addresses(filter: { readonly device?: number; readonly family?: 4 | 6 } = {}): InterfaceAddress[] {
    const family = filter.family === undefined ? AF_UNSPEC : kernelFamily(filter.family);
    return socket.dump(
      "List addresses",
      RTM.GETADDR,
      (writer) => writeAddressFilter(writer, family, filter.device ?? 0),
      (message) => {
        if (message.type !== RTM.NEWADDR) return undefined;
        const address = decodeAddress(message);
        return filter.device === undefined || address?.device === filter.device ? address : undefined;
      },
    );
  }

  function routes(filter: NonNullable<Parameters<RouteConnection["routes"]>[0]> = {}): Route[] {
    if (filter.family === undefined) return [...routes({ ...filter, family: 4 }), ...routes({ ...filter, family: 6 })];
    const family = kernelFamily(filter.family);
    const table = filter.table === "all" ? 0 : (filter.table ?? RT_TABLE_MAIN);
    const { device, protocol } = filter;
    // The kernel filters where it can; what it lets through is looked at again.
    const wanted = (route: Route): boolean =>
      (table === 0 || route.table === table) &&
      (device === undefined || route.device === device || route.hops?.some((hop) => hop.device === device) === true) &&
      (protocol === undefined || route.protocol === protocol);
    try {
      return socket.dump(
        "List routes",
        RTM.GETROUTE,
        (writer) => writeRouteFilter(writer, { family, table, device: device ?? 0, protocol: protocol ?? 0 }),
        (message) => {
          if (message.type !== RTM.NEWROUTE || message.u8(0) !== family) return undefined;
          const route = decodeRoute(message);
          return route !== undefined && wanted(route) ? route : undefined;
        },
      );
    } catch (error) {
      // A table that has never had a route does not exist; nor has a device that is gone any routes.
      if (hasErrno(error, "ENOENT", "ENODEV")) return [];
      throw error;
    }
  }

  function neighbours(filter: NonNullable<Parameters<RouteConnection["neighbours"]>[0]> = {}): Neighbour[] {
    const forwarding = filter.forwarding === true;
    const family = forwarding ? AF_BRIDGE : filter.family === undefined ? AF_UNSPEC : kernelFamily(filter.family);
    return socket.dump(
      forwarding ? "List forwarding entries" : "List neighbours",
      RTM.GETNEIGH,
      (writer) => writeNeighbourFilter(writer, family, filter.device ?? 0),
      (message) => {
        if (message.type !== RTM.NEWNEIGH) return undefined;
        const neighbour = decodeNeighbour(message);
        if (neighbour === undefined || (neighbour.forwarding === true) !== forwarding) return undefined;
        return filter.device === undefined || neighbour.device === filter.device ? neighbour : undefined;
      },
    );
  }

  function rules(family: 4 | 6): RoutingRule[] {
    return socket.dump(
      "List rules",
      RTM.GETRULE,
      (writer) => writeRuleFilter(writer, kernelFamily(family)),
      (message) => (message.type === RTM.NEWRULE ? decodeRule(message) : undefined),
    );
  }

  function qdiscs(): Qdisc[] {
    return socket.dump(
      "List queueing disciplines",
      RTM.GETQDISC,
      (writer) => writeTcBody(writer, 0, 0, 0),
      (message) => (message.type === RTM.NEWQDISC ? decodeQdisc(message) : undefined),
    );
  }

  function ingressFilters(device: number): Filter[] {
    try {
      return socket.dump(
        "List filters",
        RTM.GETTFILTER,
        (writer) => writeTcBody(writer, device, 0, INGRESS_HANDLE),
        (message) => (message.type === RTM.NEWTFILTER ? decodeFilter(message) : undefined),
      );
    } catch (error) {
      if (hasErrno(error, "ENODEV", "EINVAL", "ENOENT")) return [];
      throw error;
    }
  }

  function apply(operations: readonly RouteOperation[]): OperationFailure[] {
    const failures: OperationFailure[] = [];
    for (let start = 0; start < operations.length; start += OPERATIONS_PER_WRITE)
      applySlice(operations, start, Math.min(operations.length, start + OPERATIONS_PER_WRITE), failures);
    return failures.sort((a, b) => a.index - b.index);
  }

  function applySlice(
    operations: readonly RouteOperation[],
    start: number,
    end: number,
    failures: OperationFailure[],
  ): void {
    batch.reset();
    const indexBySeq = new Map<number, number>();
    let lastStart = -1;
    let lastSeq = 0;
    for (let index = start; index < end; index++) {
      const operation = must(operations[index], "an operation");
      const messageStart = batch.length;
      const seq = socket.nextSeq();
      try {
        writeOperation(batch, seq, operation);
      } catch (error) {
        // Cannot be encoded: it fails by itself, and what is written of it is taken back.
        if (!(error instanceof NetlinkError)) throw error;
        batch.truncate(messageStart);
        failures.push({ index, operation, error });
        continue;
      }
      lastStart = messageStart;
      lastSeq = seq;
      indexBySeq.set(seq, index);
    }
    if (lastStart < 0) return;
    // An acknowledgement of the last one only: answers to failing ones come anyway, in order, before it.
    batch.addFlags(lastStart, NLM_F.ACK);
    const { refusals, lost } = socket.exchange("Write routes", batch.bytes, lastSeq, (seq) => indexBySeq.has(seq));
    if (lost)
      throw new NetlinkError("Write routes failed: answers were lost", {
        code: NETLINK_ERROR_CODES.overrun,
        op: "Write routes",
      });
    for (const answer of refusals) {
      const index = must(indexBySeq.get(answer.seq), "the index of a refused operation");
      const operation = must(operations[index], "a refused operation");
      failures.push({ index, operation, error: refusal(describeRouteOperation(operation), answer) });
    }
  }

  function write(operation: RouteOperation): void {
    const failure = apply([operation])[0];
    if (failure !== undefined) throw failure.error;
  }

  return {
    links,
    link,
    addresses,
    routes,
    neighbours,
    rules,
    qdiscs,
    ingressFilters,
    apply,
    write,
    close: () => socket.close(),
  };
}
