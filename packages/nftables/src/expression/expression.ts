import { unreachable } from "@bulrush/base";
import type { AttributeReader, MessageWriter } from "@bulrush/netlink";
import { type BitwiseExpression, bitwiseKey, readBitwise, writeBitwise } from "./bitwise.ts";
import { type CmpExpression, cmpKey, readCmp, writeCmp } from "./cmp.ts";
import { type ConnlimitExpression, connlimitKey, readConnlimit, writeConnlimit } from "./connlimit.ts";
import { type CounterExpression, counterKey, readCounter, writeCounter } from "./counter.ts";
import { type CtExpression, ctKey, readCt, writeCt } from "./ct.ts";
import { type DynsetExpression, dynsetKey, readDynset, writeDynset } from "./dynset.ts";
import { type FibExpression, fibKey, readFib, writeFib } from "./fib.ts";
import { type FlowOffloadExpression, flowOffloadKey, readFlowOffload, writeFlowOffload } from "./flow-offload.ts";
import { type ImmediateExpression, immediateKey, readImmediate, writeImmediate } from "./immediate.ts";
import { type LimitExpression, limitKey, readLimit, writeLimit } from "./limit.ts";
import { type LogExpression, logKey, readLog, writeLog } from "./log.ts";
import { type LookupExpression, lookupKey, readLookup, writeLookup } from "./lookup.ts";
import { type MasqExpression, masqKey, readMasq, writeMasq } from "./masq.ts";
import { type MetaExpression, metaKey, readMeta, writeMeta } from "./meta.ts";
import { type NatExpression, natKey, readNat, writeNat } from "./nat.ts";
import type { NotrackExpression } from "./notrack.ts";
import { type PayloadExpression, payloadKey, readPayload, writePayload } from "./payload.ts";
import { type RangeExpression, rangeKey, readRange, writeRange } from "./range.ts";
import { readReject, type RejectExpression, rejectKey, writeReject } from "./reject.ts";
import { type UnknownExpression, unknownKey } from "./unknown.ts";

/** What the kernel runs: a rule is a list of these. `name` is the kernel's own name for it. */
export type Expression =
  | BitwiseExpression
  | CmpExpression
  | ConnlimitExpression
  | CounterExpression
  | CtExpression
  | DynsetExpression
  | FibExpression
  | FlowOffloadExpression
  | ImmediateExpression
  | LimitExpression
  | LogExpression
  | LookupExpression
  | MasqExpression
  | MetaExpression
  | NatExpression
  | NotrackExpression
  | PayloadExpression
  | RangeExpression
  | RejectExpression
  | UnknownExpression;

/** enum nft_list_attributes, nft_expr_attributes */
const NFTA_LIST_ELEM = 1;
const NFTA_EXPR = { NAME: 1, DATA: 2 } as const;

/** Writes one expression as an element of a rule's expression list. */
export function writeExpression(writer: MessageWriter, expression: Expression): void {
  const element = writer.nest(NFTA_LIST_ELEM);
  writer.attrString(NFTA_EXPR.NAME, expression.name === "unknown" ? expression.kernelName : expression.name);
  const data = writer.nest(NFTA_EXPR.DATA);
  writeData(writer, expression);
  writer.endNest(data);
  writer.endNest(element);
}

function writeData(writer: MessageWriter, expression: Expression): void {
  switch (expression.name) {
    case "bitwise":
      return writeBitwise(writer, expression);
    case "cmp":
      return writeCmp(writer, expression);
    case "connlimit":
      return writeConnlimit(writer, expression);
    case "counter":
      return writeCounter(writer, expression);
    case "ct":
      return writeCt(writer, expression);
    case "dynset":
      return writeDynset(writer, expression);
    case "fib":
      return writeFib(writer, expression);
    case "flow_offload":
      return writeFlowOffload(writer, expression);
    case "immediate":
      return writeImmediate(writer, expression);
    case "limit":
      return writeLimit(writer, expression);
    case "log":
      return writeLog(writer, expression);
    case "lookup":
      return writeLookup(writer, expression);
    case "masq":
      return writeMasq(writer, expression);
    case "meta":
      return writeMeta(writer, expression);
    case "nat":
      return writeNat(writer, expression);
    case "notrack":
      return;
    case "payload":
      return writePayload(writer, expression);
    case "range":
      return writeRange(writer, expression);
    case "reject":
      return writeReject(writer, expression);
    case "unknown":
      return writer.raw(expression.data);
    default:
      return unreachable(expression);
  }
}

/** An expression that was read. The same object may stand in many rules. */
export interface ReadExpression {
  readonly expression: Expression;
  /** Its {@link expressionKey}; of a lookup, the one with the set's own name. */
  readonly key: string;
}

/** Reads the expression list of a rule. */
export function readExpressions(attributes: AttributeReader): ReadExpression[] {
  const expressions: ReadExpression[] = [];
  while (attributes.next()) if (attributes.type === NFTA_LIST_ELEM) expressions.push(readElement(attributes));
  return expressions;
}

interface Known {
  readonly bytes: Uint8Array;
  readonly read: ReadExpression;
  readonly next: Known | undefined;
}

/**
 * Expressions that were read before, by a hash of their bytes: the rules of a host are made of few different ones.
 *
 * Invariant: no counters among them, whose bytes are others each time.
 */
const known = new Map<number, Known>();
const MAX_KNOWN = 8192;
const MAX_KNOWN_BYTES = 512;

function readElement(element: AttributeReader): ReadExpression {
  const hash = element.hash();
  const first = known.get(hash);
  for (let entry = first; entry !== undefined; entry = entry.next) if (element.equals(entry.bytes)) return entry.read;
  const expression = readExpression(element.nested());
  const read = { expression, key: expressionKey(expression, ({ set }) => `@${set}`) };
  if (expression.name === "counter" || expression.name === "unknown" || element.length > MAX_KNOWN_BYTES) return read;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(hash, { bytes: element.bytes().slice(), read, next: known.get(hash) });
  return read;
}

interface Reader {
  readonly read: (attributes: AttributeReader) => Expression;
  /** Attribute types that `read` understands, a bit each. With any other in it, the expression is not one of ours. */
  readonly known: number;
}

function reader(read: Reader["read"], ...types: readonly number[]): Reader {
  let known = 0;
  for (const type of types) known |= 1 << type;
  return { read, known };
}

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["bitwise", reader(readBitwise, 1, 2, 3, 4, 5, 6)],
  ["cmp", reader(readCmp, 1, 2, 3)],
  ["connlimit", reader(readConnlimit, 1, 2)],
  ["counter", reader(readCounter, 1, 2, 3)],
  ["ct", reader(readCt, 1, 2, 4)],
  ["dynset", reader(readDynset, 1, 3, 4, 6, 8, 9)],
  ["fib", reader(readFib, 1, 2, 3)],
  ["flow_offload", reader(readFlowOffload, 1)],
  ["immediate", reader(readImmediate, 1, 2)],
  ["limit", reader(readLimit, 1, 2, 3, 4, 5, 6)],
  ["log", reader(readLog, 1, 2, 3, 5)],
  ["lookup", reader(readLookup, 1, 2, 3, 5)],
  ["masq", reader(readMasq, 1, 2, 3)],
  ["meta", reader(readMeta, 1, 2, 3)],
  ["nat", reader(readNat, 1, 2, 3, 4, 5, 6, 7)],
  ["notrack", reader(() => ({ name: "notrack" }))],
  ["payload", reader(readPayload, 1, 2, 3, 4, 5, 6, 7, 8)],
  ["range", reader(readRange, 1, 2, 3, 4)],
  ["reject", reader(readReject, 1, 2)],
]);

function readExpression(attributes: AttributeReader): Expression {
  let kernelName = "";
  // The kernel puts the name first.
  while (attributes.next()) {
    if (attributes.type === NFTA_EXPR.NAME) kernelName = attributes.string();
    else if (attributes.type === NFTA_EXPR.DATA) {
      const found = READERS.get(kernelName);
      if (found !== undefined && (attributeTypes(attributes.nested()) & ~found.known) === 0)
        return found.read(attributes.nested());
      return { name: "unknown", kernelName, data: attributes.bytes().slice() };
    }
  }
  return kernelName === "notrack" ? { name: "notrack" } : { name: "unknown", kernelName, data: new Uint8Array(0) };
}

function attributeTypes(attributes: AttributeReader): number {
  let types = 0;
  while (attributes.next()) types |= attributes.type < 31 ? 1 << attributes.type : 1 << 31;
  return types;
}

/**
 * The expression in canonical text: equal for two expressions that do the same. `setText` gives what stands for the
 * set of a lookup.
 */
export function expressionKey(expression: Expression, setText: (lookup: LookupExpression) => string): string {
  switch (expression.name) {
    case "bitwise":
      return bitwiseKey(expression);
    case "cmp":
      return cmpKey(expression);
    case "connlimit":
      return connlimitKey(expression);
    case "counter":
      return counterKey(expression);
    case "ct":
      return ctKey(expression);
    case "dynset":
      return dynsetKey(expression);
    case "fib":
      return fibKey(expression);
    case "flow_offload":
      return flowOffloadKey(expression);
    case "immediate":
      return immediateKey(expression);
    case "limit":
      return limitKey(expression);
    case "log":
      return logKey(expression);
    case "lookup":
      return lookupKey(expression, setText(expression));
    case "masq":
      return masqKey(expression);
    case "meta":
      return metaKey(expression);
    case "nat":
      return natKey(expression);
    case "notrack":
      return "notrack";
    case "payload":
      return payloadKey(expression);
    case "range":
      return rangeKey(expression);
    case "reject":
      return rejectKey(expression);
    case "unknown":
      return unknownKey(expression);
    default:
      return unreachable(expression);
  }
}
