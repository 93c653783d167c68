import type { Route } from "@bulrush/netlink";
import type { Winner } from "./route-candidates.ts";

/** The index of "lo" in every namespace (LOOPBACK_IFINDEX). The kernel hangs IPv6 routes without a device on it. */
const LOOPBACK = 1;

/** What the kernel is to have. */
export function toRoute({ candidate: { target }, device }: Winner): Route {
  const { destination, metric, mtu, onlink, protocol, scope, source, type, via } = target;
  const isIpv6 = destination.includes(":");
  const route: { -readonly [K in keyof Route]: Route[K] } = { destination, type, protocol, metric };
  if (device !== 0) route.device = device;
  else if (isIpv6) route.device = LOOPBACK;
  // IPv6 has no scopes: naming one would make every listing look different.
  if (!isIpv6) route.scope = scope;
  if (source !== undefined) route.source = source;
  if (via !== undefined) route.via = via;
  if (onlink === true) route.onlink = true;
  if (mtu !== undefined) route.mtu = mtu;
  return route;
}

/**
 * What names a route to the kernel: whatever else somebody has made of it meanwhile, it goes. One without a device is told
 * by its type from others of its network.
 */
export function selectorOf({ destination, device, metric, tos, type }: Route): Route {
  const selector: { -readonly [K in keyof Route]: Route[K] } = { destination };
  if (metric !== undefined) selector.metric = metric;
  if (tos !== undefined) selector.tos = tos;
  if (device !== undefined) selector.device = device;
  else if (type !== undefined) selector.type = type;
  return selector;
}

/** Compares what we set; flags and other things that only the kernel reports do not count. */
export function sameRoute(a: Route, b: Route): boolean {
  return (
    (a.type ?? "unicast") === (b.type ?? "unicast") &&
    a.device === b.device &&
    a.via === b.via &&
    a.source === b.source &&
    a.protocol === b.protocol &&
    a.mtu === b.mtu &&
    (a.destination.includes(":") || (a.scope ?? "link") === (b.scope ?? "link")) &&
    a.hops === undefined &&
    b.hops === undefined
  );
}
