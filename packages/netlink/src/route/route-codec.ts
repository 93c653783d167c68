import { addressBytes, type Cidr } from "@bulrush/ip";
import { AttributeReader } from "../message/attribute-reader.ts";
import { align4 } from "../message/header.ts";
import { malformed } from "../message/malformed.ts";
import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import type { RouteScope } from "./address.ts";
import { AF_INET, AF_INET6, ROUTE_BODY_BYTES } from "./constants.ts";
import type { NextHop, Route, RouteType } from "./route.ts";
import { scopeName, scopeNumber } from "./scope.ts";
import { addressBytesOf, addressText, badArgument, kernelFamily, mustAddress, mustCidr } from "./text-codec.ts";

/** linux/rtnetlink.h */
const RTA = {
  DST: 1,
  OIF: 4,
  GATEWAY: 5,
  PRIORITY: 6,
  PREFSRC: 7,
  METRICS: 8,
  MULTIPATH: 9,
  TABLE: 15,
  VIA: 18,
} as const;
const RTAX_MTU = 2;
const RTNH_F_ONLINK = 4;
const RTNH_BYTES = 8;
/** A copy that the kernel keeps for itself, not a route. */
const RTM_F_CLONED = 0x200;
const RT_TABLE_MAIN = 254;
const RTPROT_BOOT = 3;

/** enum rtm_type: the index is the number. */
const TYPES: readonly (RouteType | undefined)[] = [
  undefined,
  "unicast",
  "local",
  "broadcast",
  "anycast",
  "multicast",
  "blackhole",
  "unreachable",
  "prohibit",
  "throw",
  "nat",
];

/** `struct rtmsg` of a dump request. */
export function writeRouteFilter(
  writer: MessageWriter,
  filter: { family: number; table: number; device: number; protocol: number },
): void {
  writer.u8(filter.family);
  writer.u8(0);
  writer.u8(0);
  writer.u8(0);
  writer.u8(filter.table > 255 ? 0 : filter.table);
  writer.u8(filter.protocol);
  writer.u8(0);
  writer.u8(0);
  writer.u32(0);
  if (filter.table !== 0) writer.attrU32(RTA.TABLE, filter.table);
  if (filter.device !== 0) writer.attrU32(RTA.OIF, filter.device);
}

/** A route to add or replace. */
export function writeRoute(writer: MessageWriter, route: Route): void {
  const cidr = mustCidr(route.destination);
  const type = route.type ?? "unicast";
  const scope = cidr.family === 6 ? "universe" : (route.scope ?? defaultScope(route, type));
  writeBody(writer, route, cidr, TYPES.indexOf(type), scopeNumber(scope), route.protocol ?? RTPROT_BOOT);
}

/** A route to delete: what is not given matches anything (scope nowhere, type and protocol 0). */
export function writeRouteSelector(writer: MessageWriter, route: Route): void {
  const type = route.type === undefined ? 0 : TYPES.indexOf(route.type);
  const scope = scopeNumber(route.scope ?? "nowhere");
  writeBody(writer, route, mustCidr(route.destination), type, scope, route.protocol ?? 0);
}

function defaultScope(route: Route, type: RouteType): RouteScope {
  if (type === "local") return "host";
  if (type !== "unicast" || route.via !== undefined || route.hops !== undefined) return "universe";
  return "link";
}

function writeBody(
  writer: MessageWriter,
  route: Route,
  cidr: Cidr,
  type: number,
  scope: number,
  protocol: number,
): void {
  const table = route.table ?? RT_TABLE_MAIN;
  writer.u8(kernelFamily(cidr.family));
  writer.u8(cidr.prefixLength);
  writer.u8(0);
  writer.u8(route.tos ?? 0);
  writer.u8(table > 255 ? 0 : table);
  writer.u8(protocol);
  writer.u8(scope);
  writer.u8(type);
  writer.u32(route.onlink === true ? RTNH_F_ONLINK : 0);
  writer.attrBytes(RTA.DST, addressBytes(cidr));
  if (table > 255) writer.attrU32(RTA.TABLE, table);
  if (route.device !== undefined) writer.attrU32(RTA.OIF, route.device);
  if (route.via !== undefined) writeGateway(writer, route.via, cidr.family);
  if (route.source !== undefined) writer.attrBytes(RTA.PREFSRC, addressBytesOf(route.source));
  if (route.metric !== undefined) writer.attrU32(RTA.PRIORITY, route.metric);
  if (route.mtu !== undefined) {
    const metrics = writer.nest(RTA.METRICS);
    writer.attrU32(RTAX_MTU, route.mtu);
    writer.endNest(metrics);
  }
  if (route.hops !== undefined) {
    const hops = writer.nest(RTA.MULTIPATH);
    for (const hop of route.hops) writeHop(writer, hop, cidr.family);
    writer.endNest(hops);
  }
}

function writeGateway(writer: MessageWriter, via: string, family: 4 | 6): void {
  const gateway = mustAddress(via);
  if (gateway.family === family) {
    writer.attrBytes(RTA.GATEWAY, addressBytes(gateway));
    return;
  }
  if (gateway.family === 4) throw badArgument("IPv4 gateway of an IPv6 route", via);
  const bytes = new Uint8Array(18);
  bytes[0] = AF_INET6;
  bytes.set(addressBytes(gateway), 2);
  writer.attrBytes(RTA.VIA, bytes);
}

/** `struct rtnexthop`, whose length covers the attributes behind it. */
function writeHop(writer: MessageWriter, hop: NextHop, family: 4 | 6): void {
  const weight = hop.weight ?? 1;
  if (!Number.isInteger(weight) || weight < 1 || weight > 256) throw badArgument("next hop weight", weight);
  const gatewayBytes =
    hop.via === undefined ? 0 : 4 + (mustAddress(hop.via).family === family ? (family === 4 ? 4 : 16) : 20);
  writer.u16(RTNH_BYTES + gatewayBytes);
  writer.u8(hop.onlink === true ? RTNH_F_ONLINK : 0);
  writer.u8(weight - 1);
  writer.u32(hop.device ?? 0);
  if (hop.via !== undefined) writeGateway(writer, hop.via, family);
}

/** `undefined` for what is no route of IPv4 or IPv6, and for the kernel's cached copies. */
export function decodeRoute(message: MessageReader): Route | undefined {
  const family = message.u8(0);
  if (family !== AF_INET && family !== AF_INET6) return undefined;
  const flags = message.u32(8);
  if ((flags & RTM_F_CLONED) !== 0) return undefined;
  const tos = message.u8(3);
  const prefixLength = message.u8(1);
  let destination = family === AF_INET ? "0.0.0.0" : "::";
  const route: { -readonly [K in keyof Route]: Route[K] } = {
    destination: "",
    type: TYPES[message.u8(7)] ?? "unicast",
    scope: scopeName(message.u8(6)),
    protocol: message.u8(5),
    table: message.u8(4),
    metric: 0,
    flags: flags & 0xff,
  };
  if (tos !== 0) route.tos = tos;
  if ((flags & RTNH_F_ONLINK) !== 0) route.onlink = true;
  const attributes = message.attributes(ROUTE_BODY_BYTES);
  while (attributes.next()) {
    switch (attributes.type) {
      case RTA.DST:
        destination = addressText(attributes.bytes()) ?? destination;
        break;
      case RTA.TABLE:
        route.table = attributes.u32();
        break;
      case RTA.OIF:
        route.device = attributes.u32();
        break;
      case RTA.PRIORITY:
        route.metric = attributes.u32();
        break;
      case RTA.PREFSRC: {
        const source = addressText(attributes.bytes());
        if (source !== undefined) route.source = source;
        break;
      }
      case RTA.GATEWAY:
      case RTA.VIA: {
        const via = decodeGateway(attributes);
        if (via !== undefined) route.via = via;
        break;
      }
      case RTA.METRICS: {
        const metrics = attributes.nested();
        while (metrics.next()) if (metrics.type === RTAX_MTU) route.mtu = metrics.u32();
        break;
      }
      case RTA.MULTIPATH:
        route.hops = decodeHops(message.view, attributes.start, attributes.start + attributes.length);
        break;
    }
  }
  route.destination = `${destination}/${prefixLength}`;
  return route;
}

function decodeGateway(attribute: AttributeReader): string | undefined {
  const bytes = attribute.bytes();
  return addressText(attribute.type === RTA.VIA ? bytes.subarray(2) : bytes);
}

function decodeHops(view: DataView, start: number, end: number): NextHop[] {
  const hops: NextHop[] = [];
  for (let at = start; at + RTNH_BYTES <= end; ) {
    const length = view.getUint16(at, true);
    if (length < RTNH_BYTES || at + length > end) throw malformed(`next hop of ${length} bytes`);
    let via: string | undefined;
    const attributes = new AttributeReader(view, at + RTNH_BYTES, at + length);
    while (attributes.next())
      if (attributes.type === RTA.GATEWAY || attributes.type === RTA.VIA) via = decodeGateway(attributes);
    hops.push({
      device: view.getInt32(at + 4, true),
      weight: view.getUint8(at + 3) + 1,
      ...(via === undefined ? {} : { via }),
      ...((view.getUint8(at + 2) & RTNH_F_ONLINK) === 0 ? {} : { onlink: true }),
    });
    at += align4(length);
  }
  return hops;
}
