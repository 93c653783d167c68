import { CT_STATE, CT_STATUS, shareStatement } from "@bulrush/nftables";
import type {
  CtKey,
  KeyField,
  Literal,
  MetaKey,
  Operand,
  PayloadField,
  Right,
  Statement,
  Verdict,
} from "@bulrush/nftables";

/**
 * Short builders for the statements that rules here are made of. Statements that stand in many rules are the same object
 * each time, so that they are compared at a glance and encoded once.
 */

/** More kinds of one statement than any ruleset has at a time; beyond it they are made anew. */
const MAX_SHARED = 4096;

/** A builder that gives the same statement for the same argument. */
function sharing<K, S extends Statement>(make: (argument: K) => S): (argument: K) => S {
  const made = new Map<K, S>();
  return (argument) => {
    let statement = made.get(argument);
    if (statement === undefined) {
      statement = shareStatement(make(argument));
      if (made.size >= MAX_SHARED) made.clear();
      made.set(argument, statement);
    }
    return statement;
  };
}

export type Side = "src" | "dst";
export type Family = 4 | 6;

export const ACCEPT: Verdict = { kind: "accept" };
export const DROP: Verdict = { kind: "drop" };
export const RETURN: Verdict = { kind: "return" };

export const COUNTER: Statement = shareStatement({ kind: "counter" });

const plainVerdict = sharing<Verdict["kind"], Statement>((kind) => ({ kind: "verdict", verdict: { kind } as Verdict }));

export function verdict(value: Verdict): Statement {
  return "chain" in value ? { kind: "verdict", verdict: value } : plainVerdict(value.kind);
}

export const jump: (chain: string) => Statement = sharing((chain) => ({
  kind: "verdict",
  verdict: { kind: "jump", chain },
}));

export const goto: (chain: string) => Statement = sharing((chain) => ({
  kind: "verdict",
  verdict: { kind: "goto", chain },
}));

const payloads = new Map<PayloadField, Operand>();
const metas = new Map<MetaKey, Operand>();

export function payload(field: PayloadField): Operand {
  const known = payloads.get(field) ?? { kind: "payload", field };
  payloads.set(field, known);
  return known;
}

export function meta(key: MetaKey): Operand {
  const known = metas.get(key) ?? { kind: "meta", key };
  metas.set(key, known);
  return known;
}

function ct(key: CtKey): Operand {
  return { kind: "ct", key };
}

export function address(side: Side, family: Family): Operand {
  if (family === 4) return payload(side === "src" ? "ip saddr" : "ip daddr");
  return payload(side === "src" ? "ip6 saddr" : "ip6 daddr");
}

export function port(side: Side): Operand {
  return payload(side === "src" ? "th sport" : "th dport");
}

/** `addr . l4proto . port` of one side: what sets of named ports and services hold. */
export function addressAndPort(side: Side, family: Family): Operand {
  return ADDRESS_AND_PORT[side][family];
}

function concat(side: Side, family: Family): Operand {
  return { kind: "concat", parts: [address(side, family), meta("l4proto"), port(side)] };
}

const ADDRESS_AND_PORT: Readonly<Record<Side, Readonly<Record<Family, Operand>>>> = {
  src: { 4: concat("src", 4), 6: concat("src", 6) },
  dst: { 4: concat("dst", 4), 6: concat("dst", 6) },
};

export function addressKey(family: Family): KeyField {
  return family === 4 ? "ipv4_addr" : "ipv6_addr";
}

export function match(left: Operand, op: "==" | "!=", right: Right): Statement {
  return { kind: "match", left, op, right };
}

export function equals(left: Operand, value: Literal): Statement {
  return match(left, "==", { kind: "value", value });
}

/** By operand: the functions above give the same object each time. */
const setMatches = new WeakMap<Operand, (name: string) => Statement>();

export function inSet(left: Operand, name: string): Statement {
  let matchOf = setMatches.get(left);
  if (matchOf === undefined) {
    matchOf = sharing((set: string) => match(left, "==", { kind: "set", name: set }));
    setMatches.set(left, matchOf);
  }
  return matchOf(name);
}

export function notInSet(left: Operand, name: string): Statement {
  return match(left, "!=", { kind: "set", name });
}

export function inNet(left: Operand, cidr: string): Statement {
  return match(left, "==", { kind: "cidr", cidr });
}

export function notInNet(left: Operand, cidr: string): Statement {
  return match(left, "!=", { kind: "cidr", cidr });
}

/** The packet's protocol, in the spelling of `protocolLiteral`. */
export const isProtocol: (protocol: Literal) => Statement = sharing((protocol) => equals(meta("l4proto"), protocol));

const isSourcePort = sharing((number: number) => equals(port("src"), number));
const isDestinationPort = sharing((number: number) => equals(port("dst"), number));

/** One port. */
export function isPort(side: Side, number: number): Statement {
  return side === "src" ? isSourcePort(number) : isDestinationPort(number);
}

/** An ICMPv6 packet of one of these types. */
export function icmpv6Types(types: readonly number[]): Statement[] {
  return [
    equals(meta("l4proto"), "icmpv6"),
    match(payload("icmpv6 type"), "==", { kind: "anonymous", elements: types }),
  ];
}

/** All these mark bits are set. */
export const marked: (bits: number) => Statement = sharing((bits) =>
  match(meta("mark"), "==", { kind: "masked", mask: bits, value: bits }),
);

/** None of these mark bits is set. */
export const unmarked: (bits: number) => Statement = sharing((bits) =>
  match(meta("mark"), "==", { kind: "masked", mask: bits, value: 0 }),
);

export const setMark: (bits: number) => Statement = sharing((bits) => ({ kind: "set-mark", mask: bits, value: bits }));

export const clearMark: (bits: number) => Statement = sharing((bits) => ({ kind: "set-mark", mask: bits, value: 0 }));

export function inInterfaces(prefix: string): Statement {
  return match(meta("iifname"), "==", { kind: "prefix", prefix });
}

export function outInterfaces(prefix: string): Statement {
  return match(meta("oifname"), "==", { kind: "prefix", prefix });
}

/** Leaves by this very interface. */
export function outInterface(name: string): Statement {
  return equals(meta("oifname"), name);
}

/** What kind of address it is to this host, or (`oif`) to the interface that the packet leaves by: "local" for its own. */
export function fibType(side: "saddr" | "daddr", on?: "oif"): Operand {
  return { kind: "fib", result: "type", flags: on === undefined ? [side] : [side, on] };
}

/** The packet belongs to a flow that was let through before, or to one that such a flow asked for. */
export function established(): Statement {
  return hasBits("state", CT_STATE.established + CT_STATE.related);
}

/** The packet is the first of a flow. */
export function newFlow(): Statement {
  return hasBits("state", CT_STATE.new);
}

/** Conntrack can make nothing of the packet. */
export function invalid(): Statement {
  return hasBits("state", CT_STATE.invalid);
}

/** The flow's destination was translated. */
export function destinationTranslated(): Statement {
  return hasBits("status", CT_STATUS.dnat);
}

/**
 * The flow's destination was not translated, as a test of one bit of `ct status`. A packet without a flow has no status
 * and matches neither this nor its opposite: see {@link withoutFlow}.
 */
export function destinationNotTranslated(): Statement {
  return match(ct("status"), "==", { kind: "masked", mask: CT_STATUS.dnat, value: 0 });
}

/** Conntrack has no flow for the packet: it was told not to track it, or can make nothing of it. */
export function withoutFlow(): Statement {
  return hasBits("state", CT_STATE.untracked + CT_STATE.invalid);
}

/** Any of the bits. */
function hasBits(key: CtKey, bits: number): Statement {
  return match(ct(key), "!=", { kind: "masked", mask: bits, value: 0 });
}
