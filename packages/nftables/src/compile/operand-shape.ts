import { addressBytes, parseAddress } from "@bulrush/ip";
import { must, unreachable } from "@bulrush/base";
import { CT_KEY } from "../expression/ct.ts";
import type { Expression } from "../expression/expression.ts";
import { FIB_FLAG, FIB_RESULT } from "../expression/fib.ts";
import { META_KEY } from "../expression/meta.ts";
import { invalid } from "../invalid.ts";
import type { CtKey, Literal, MetaKey, Operand, PayloadField } from "../statement.ts";
import { bigEndian, ifnameBytes, littleEndian } from "../wire/bytes.ts";
import { DATATYPE } from "../wire/datatype.ts";
import { protocolNumber } from "../wire/protocol.ts";

/** What a match can look at, in bytes: how it gets into a register, and what a value of it looks like there. */
export interface OperandShape {
  readonly load: (register: number) => Expression;
  /** Bytes in the register. */
  readonly bytes: number;
  readonly order: "big" | "host";
  readonly datatype: number;
  /** Where only some bits of what is loaded count: the bits, and how far a value is shifted up to them. */
  readonly field?: { readonly mask: Uint8Array; readonly shift: number };
  /** Throws NFT_INVALID. */
  readonly encode: (value: Literal) => Uint8Array;
  /** The packet must be of this network protocol for the load to make sense (matters in `inet` tables). */
  readonly network?: 4 | 6;
  /** The packet must be of this transport protocol. */
  readonly transport?: number;
}

type Order = "big" | "host";

function unsigned(what: string, bytes: number, order: Order): (value: Literal) => Uint8Array {
  const max = 256 ** bytes - 1;
  return (value) => {
    const number = typeof value === "number" ? value : /^(0x[0-9a-fA-F]+|[0-9]+)$/.test(value) ? Number(value) : -1;
    if (!Number.isInteger(number) || number < 0 || number > max) throw invalid(what, value);
    return order === "big" ? bigEndian(number, bytes) : littleEndian(number, bytes);
  };
}

function named(
  what: string,
  names: Readonly<Record<string, number>>,
  bytes: number,
  order: Order,
): (value: Literal) => Uint8Array {
  const plain = unsigned(what, bytes, order);
  return (value) => plain(typeof value === "string" ? (names[value] ?? value) : value);
}

function address(family: 4 | 6): (value: Literal) => Uint8Array {
  return (value) => {
    const parsed = parseAddress(String(value));
    if (parsed?.family !== family) throw invalid(`IPv${family} address`, value);
    return addressBytes(parsed);
  };
}

function interfaceName(value: Literal): Uint8Array {
  const bytes = ifnameBytes(String(value));
  if (bytes === undefined) throw invalid("interface name", value);
  return bytes;
}

function protocol(value: Literal): Uint8Array {
  const number = protocolNumber(value);
  if (number === undefined) throw invalid("protocol", value);
  return Uint8Array.of(number);
}

function payload(
  base: "network" | "transport",
  offset: number,
  bytes: number,
  datatype: number,
  more: Partial<Pick<OperandShape, "encode" | "field" | "network" | "transport">> = {},
): OperandShape {
  return {
    load: (register) => ({ name: "payload", direction: "load", register, base, offset, length: bytes }),
    bytes,
    order: "big",
    datatype,
    encode: unsigned("value", bytes, "big"),
    ...more,
  };
}

const ICMP = 1;
const ICMPV6 = 58;

const PAYLOADS: Readonly<Record<PayloadField, OperandShape>> = {
  "ip saddr": payload("network", 12, 4, DATATYPE.ipv4_addr, { encode: address(4), network: 4 }),
  "ip daddr": payload("network", 16, 4, DATATYPE.ipv4_addr, { encode: address(4), network: 4 }),
  "ip6 saddr": payload("network", 8, 16, DATATYPE.ipv6_addr, { encode: address(6), network: 6 }),
  "ip6 daddr": payload("network", 24, 16, DATATYPE.ipv6_addr, { encode: address(6), network: 6 }),
  "th sport": payload("transport", 0, 2, DATATYPE.inet_service),
  "th dport": payload("transport", 2, 2, DATATYPE.inet_service),
  "icmp type": payload("transport", 0, 1, DATATYPE.icmp_type, { transport: ICMP }),
  "icmpv6 type": payload("transport", 0, 1, DATATYPE.icmpv6_type, { transport: ICMPV6 }),
  "icmp type-code": payload("transport", 0, 2, DATATYPE.integer),
  "ip dscp": payload("network", 1, 1, DATATYPE.dscp, { network: 4, field: { mask: Uint8Array.of(0xfc), shift: 2 } }),
  "ip6 dscp": payload("network", 0, 2, DATATYPE.dscp, {
    network: 6,
    field: { mask: Uint8Array.of(0x0f, 0xc0), shift: 6 },
  }),
  "arp operation": payload("network", 6, 2, DATATYPE.arp_op, {
    encode: named("ARP operation", { request: 1, reply: 2 }, 2, "big"),
  }),
  "arp saddr ip": payload("network", 14, 4, DATATYPE.ipv4_addr, { encode: address(4) }),
};

function meta(key: MetaKey, bytes: number, datatype: number, encode: OperandShape["encode"]): OperandShape {
  return {
    load: (register) => ({ name: "meta", direction: "load", key: META_KEY[key], register }),
    bytes,
    order: key === "l4proto" || key === "nfproto" ? "big" : "host",
    datatype,
    encode,
  };
}

const METAS: Readonly<Record<MetaKey, OperandShape>> = {
  mark: meta("mark", 4, DATATYPE.mark, unsigned("mark", 4, "host")),
  iifname: meta("iifname", 16, DATATYPE.ifname, interfaceName),
  oifname: meta("oifname", 16, DATATYPE.ifname, interfaceName),
  l4proto: meta("l4proto", 1, DATATYPE.inet_proto, protocol),
  nfproto: meta("nfproto", 1, DATATYPE.nfproto, named("network protocol", { ipv4: 2, ipv6: 10 }, 1, "big")),
};

function ct(key: CtKey, bytes: number, datatype: number, encode: OperandShape["encode"]): OperandShape {
  return {
    load: (register) => ({ name: "ct", direction: "load", key: CT_KEY[key], register }),
    bytes,
    order: "host",
    datatype,
    encode,
  };
}

const CTS: Readonly<Record<CtKey, OperandShape>> = {
  state: ct("state", 4, DATATYPE.ct_state, unsigned("ct state", 4, "host")),
  status: ct("status", 4, DATATYPE.ct_status, unsigned("ct status", 4, "host")),
  mark: ct("mark", 4, DATATYPE.mark, unsigned("ct mark", 4, "host")),
  direction: ct("direction", 1, DATATYPE.ct_dir, named("ct direction", { original: 0, reply: 1 }, 1, "host")),
};

/** enum of RTN_ types, linux/rtnetlink.h, under nft's names. */
export const FIB_TYPES: Readonly<Record<string, number>> = {
  unspec: 0,
  unicast: 1,
  local: 2,
  broadcast: 3,
  anycast: 4,
  multicast: 5,
  blackhole: 6,
  unreachable: 7,
  prohibit: 8,
};

function fib(operand: Extract<Operand, { kind: "fib" }>): OperandShape {
  let flags = 0;
  for (const flag of operand.flags) flags |= FIB_FLAG[flag];
  const isType = operand.result === "type";
  return {
    load: (register) => ({ name: "fib", dreg: register, result: FIB_RESULT[operand.result], flags }),
    bytes: 4,
    order: "host",
    datatype: isType ? DATATYPE.fib_addrtype : DATATYPE.iface_index,
    encode: isType ? named("address type", FIB_TYPES, 4, "host") : unsigned("interface index", 4, "host"),
  };
}

/** The shape of a single operand. A concatenation has none: see {@link operandParts}. */
export function operandShape(operand: Exclude<Operand, { kind: "concat" }>): OperandShape {
  switch (operand.kind) {
    case "payload":
      return must(PAYLOADS[operand.field], operand.field);
    case "meta":
      return METAS[operand.key];
    case "ct":
      return CTS[operand.key];
    case "fib":
      return fib(operand);
    default:
      return unreachable(operand);
  }
}

/** The single operands side by side in it. */
export function operandParts(operand: Operand): Exclude<Operand, { kind: "concat" }>[] {
  if (operand.kind !== "concat") return [operand];
  return operand.parts.flatMap(operandParts);
}
