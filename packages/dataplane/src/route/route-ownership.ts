import type { Route } from "@bulrush/netlink";
import { IPIP_DEVICE } from "../tunnel/ipip-device.ts";
import { VXLAN_DEVICE } from "../tunnel/vxlan-device.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { OWN_PROTOCOL } from "./own-protocol.ts";

/** RTPROT_KERNEL: routes that come with an address. */
const KERNEL_PROTOCOL = 2;

/** RTPROT_BIRD: the BGP daemon's. What it has left by IP in IP is ours when those routes become ours. */
const BIRD_PROTOCOL = 12;

/** On our own tunnel devices, all routes are ours. */
const TUNNEL_DEVICES: ReadonlySet<string> = new Set(Object.values(VXLAN_DEVICE));

/**
 * RTPROT_ numbers that others on a host have for their own routes: redirect, kernel, boot, static, router advertisement,
 * BIRD, DHCP. Where one of them is set for ours, it does not tell whose a route is.
 */
const SHARED_PROTOCOLS: ReadonlySet<number> = new Set([1, KERNEL_PROTOCOL, 3, 4, 9, BIRD_PROTOCOL, 16]);

/** By what a listed route is known to be ours to judge. */
export interface RouteOwnership {
  readonly interfacePrefixes: readonly string[];
  /** On workload interfaces every route is ours; else only those with our protocols. */
  readonly removeExternalRoutes: boolean;
  readonly deviceRouteProtocol: number;
  /** Which routes to other hosts are ours. Default: none by IP in IP. */
  readonly clusterRoutes?: { readonly ipip: boolean };
  /** The workload on this interface tells the host's BGP daemon of its own networks: that one's routes stay. */
  readonly isBgpPeer?: (interfaceName: string) => boolean;
}

/** True for workload interfaces. */
export function isWorkloadInterface(name: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix));
}

/**
 * True when a route that nobody wants is ours to remove. Link-local and multicast networks belong to the kernel.
 */
export function isOwnRoute(route: Route, interfaces: Interfaces, ownership: RouteOwnership): boolean {
  if (route.protocol === OWN_PROTOCOL) return true;
  const { deviceRouteProtocol } = ownership;
  if (route.protocol === deviceRouteProtocol && !SHARED_PROTOCOLS.has(deviceRouteProtocol)) return true;
  if (route.destination === "fe80::/64" || route.destination === "ff00::/8") return false;
  if (route.device === undefined) return false;
  const name = interfaces.byIndex(route.device)?.name;
  if (name !== undefined && TUNNEL_DEVICES.has(name)) return route.protocol !== KERNEL_PROTOCOL;
  if (name === IPIP_DEVICE) return route.protocol === BIRD_PROTOCOL && ownership.clusterRoutes?.ipip === true;
  if (name === undefined || !isWorkloadInterface(name, ownership.interfacePrefixes)) return false;
  if (route.protocol === BIRD_PROTOCOL && ownership.isBgpPeer?.(name) === true) return false;
  return ownership.removeExternalRoutes || route.protocol === deviceRouteProtocol;
}
