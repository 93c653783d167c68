import { type Address, addressBytes, formatAddress, parseAddress } from "@bulrush/ip";
import { NETLINK_ERROR_CODES, NetlinkError } from "../errors.ts";
import type { AttributeReader } from "../message/attribute-reader.ts";
import type { MessageReader } from "../message/message-reader.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { NFGEN_BYTES } from "../message/nfgen.ts";
import type { Flow, FlowFilter, FlowTuple } from "./flow.ts";
import { AF_INET, AF_INET6 } from "../route/constants.ts";
import { addressText } from "../route/text-codec.ts";

/** linux/netfilter/nfnetlink_conntrack.h */
export const CTA = { TUPLE_ORIG: 1, TUPLE_REPLY: 2, STATUS: 3, MARK: 8, ZONE: 18, FILTER: 25 } as const;
const CTA_TUPLE = { IP: 1, PROTO: 2 } as const;
const CTA_IP = { V4_SRC: 1, V4_DST: 2, V6_SRC: 3, V6_DST: 4 } as const;
const CTA_PROTO = { NUM: 1, SRC_PORT: 2, DST_PORT: 3 } as const;
const CTA_FILTER = { ORIG_FLAGS: 1, REPLY_FLAGS: 2 } as const;
const FILTER_SOURCE = 1;
const FILTER_DESTINATION = 2;

/** A filter with its addresses read and checked. */
export interface ParsedFilter {
  readonly family: 4 | 6;
  readonly originalSource: Address | undefined;
  readonly originalDestination: Address | undefined;
  readonly replySource: Address | undefined;
  readonly replyDestination: Address | undefined;
}

/** Throws NETLINK_ARGUMENT for a filter that is empty, unreadable, or of two families. */
export function parseFilter(filter: FlowFilter): ParsedFilter {
  let family: 4 | 6 | undefined;
  const read = (field: keyof FlowFilter): Address | undefined => {
    const text = filter[field];
    if (text === undefined) return undefined;
    const address = parseAddress(text);
    if (address === undefined || (family !== undefined && address.family !== family))
      throw badFilter(`${field} '${text}'`);
    family = address.family;
    return address;
  };
  const originalSource = read("originalSource");
  const originalDestination = read("originalDestination");
  const replySource = read("replySource");
  const replyDestination = read("replyDestination");
  if (family === undefined) throw badFilter("no address at all");
  return { family, originalSource, originalDestination, replySource, replyDestination };
}

function badFilter(why: string): NetlinkError {
  return new NetlinkError(`Invalid conntrack filter: ${why}`, {
    code: NETLINK_ERROR_CODES.argument,
    op: "Filter conntrack",
  });
}

/** The tuples and CTA_FILTER, for a dump or a delete. */
export function writeFilter(writer: MessageWriter, filter: ParsedFilter): void {
  writeTuple(writer, CTA.TUPLE_ORIG, filter.originalSource, filter.originalDestination);
  writeTuple(writer, CTA.TUPLE_REPLY, filter.replySource, filter.replyDestination);
  const flags = (source: Address | undefined, destination: Address | undefined): number =>
    (source === undefined ? 0 : FILTER_SOURCE) | (destination === undefined ? 0 : FILTER_DESTINATION);
  const nest = writer.nest(CTA.FILTER);
  writer.attrU32(CTA_FILTER.ORIG_FLAGS, flags(filter.originalSource, filter.originalDestination));
  writer.attrU32(CTA_FILTER.REPLY_FLAGS, flags(filter.replySource, filter.replyDestination));
  writer.endNest(nest);
}

function writeTuple(
  writer: MessageWriter,
  type: number,
  source: Address | undefined,
  destination: Address | undefined,
): void {
  if (source === undefined && destination === undefined) return;
  const tuple = writer.nest(type);
  const ip = writer.nest(CTA_TUPLE.IP);
  if (source !== undefined) writer.attrBytes(source.family === 4 ? CTA_IP.V4_SRC : CTA_IP.V6_SRC, addressBytes(source));
  if (destination !== undefined)
    writer.attrBytes(destination.family === 4 ? CTA_IP.V4_DST : CTA_IP.V6_DST, addressBytes(destination));
  writer.endNest(ip);
  writer.endNest(tuple);
}

/** True when the flow has all the addresses of the filter: kernels before 5.8 do not filter dumps. */
export function flowMatches(flow: Flow, filter: ParsedFilter): boolean {
  const same = (address: Address | undefined, text: string): boolean =>
    address === undefined || formatAddress(address) === text;
  return (
    flow.family === filter.family &&
    same(filter.originalSource, flow.original.source) &&
    same(filter.originalDestination, flow.original.destination) &&
    same(filter.replySource, flow.reply.source) &&
    same(filter.replyDestination, flow.reply.destination)
  );
}

/** `undefined` for a flow of neither IPv4 nor IPv6. */
export function decodeFlow(message: MessageReader): Flow | undefined {
  const family = message.u8(0);
  if (family !== AF_INET && family !== AF_INET6) return undefined;
  let original: DecodedTuple | undefined;
  let reply: DecodedTuple | undefined;
  let status = 0;
  let mark = 0;
  let zone = 0;
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    if (attributes.type === CTA.TUPLE_ORIG) original = decodeTuple(attributes.nested());
    else if (attributes.type === CTA.TUPLE_REPLY) reply = decodeTuple(attributes.nested());
    else if (attributes.type === CTA.STATUS) status = attributes.u32be();
    else if (attributes.type === CTA.MARK) mark = attributes.u32be();
    else if (attributes.type === CTA.ZONE) zone = attributes.u16be();
  }
  if (original === undefined || reply === undefined) return undefined;
  return {
    family: family === AF_INET ? 4 : 6,
    protocol: original.protocol,
    original: original.tuple,
    reply: reply.tuple,
    status,
    mark,
    zone,
  };
}

interface DecodedTuple {
  readonly protocol: number;
  readonly tuple: FlowTuple;
}

function decodeTuple(attributes: AttributeReader): DecodedTuple {
  let protocol = 0;
  const tuple: { -readonly [K in keyof FlowTuple]: FlowTuple[K] } = { source: "", destination: "" };
  while (attributes.next()) {
    const nested = attributes.nested();
    if (attributes.type === CTA_TUPLE.IP)
      while (nested.next()) {
        const text = addressText(nested.bytes());
        if (text === undefined) continue;
        if (nested.type === CTA_IP.V4_SRC || nested.type === CTA_IP.V6_SRC) tuple.source = text;
        else if (nested.type === CTA_IP.V4_DST || nested.type === CTA_IP.V6_DST) tuple.destination = text;
      }
    else if (attributes.type === CTA_TUPLE.PROTO)
      while (nested.next()) {
        if (nested.type === CTA_PROTO.NUM) protocol = nested.u8();
        else if (nested.type === CTA_PROTO.SRC_PORT) tuple.sourcePort = nested.u16be();
        else if (nested.type === CTA_PROTO.DST_PORT) tuple.destinationPort = nested.u16be();
      }
  }
  return { protocol, tuple };
}
