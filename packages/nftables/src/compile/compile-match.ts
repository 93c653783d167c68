import { unreachable } from "@bulrush/base";
import { addressBytes, maskCidr, parseCidr } from "@bulrush/ip";
import { invalid } from "../invalid.ts";
import type { Operand, Statement } from "../statement.ts";
import { bigEndian, littleEndian } from "../wire/bytes.ts";
import { REG_1 } from "../wire/register.ts";
import { anonymousIntervals, anonymousSet, isSingle } from "./anonymous-set.ts";
import { loadOperand, type RuleBuilder } from "./rule-builder.ts";
import { type OperandShape, operandParts, operandShape } from "./operand-shape.ts";

type Match = Extract<Statement, { kind: "match" }>;
type Single = Exclude<Operand, { kind: "concat" }>;

export const ANONYMOUS_SET_NAME = "__set%d";

/** Compiles one match: loads what it looks at into register 1, then compares. */
export function compileMatch(builder: RuleBuilder, match: Match): void {
  const { left, right, op } = match;
  if (right.kind === "set") {
    if (operandParts(left).some((part) => operandShape(part).field !== undefined))
      throw invalid("set lookup of a bit field in", right.name);
    loadOperand(builder, left);
    builder.expressions.push({ name: "lookup", sreg: REG_1, set: right.name, map: false, inverted: op === "!=" });
    return;
  }
  if (left.kind === "concat") throw invalid("concatenation beside", right.kind);
  const negated = op === "!=";
  switch (right.kind) {
    case "value":
      compileValue(builder, left, right.value, negated);
      return;
    case "cidr":
      compileCidr(builder, left, right.cidr, negated);
      return;
    case "prefix":
      compilePrefix(builder, left, right.prefix, negated);
      return;
    case "masked":
      compileMasked(builder, left, right, negated);
      return;
    case "range": {
      const shape = single(builder, left);
      if (shape.order !== "big") throw invalid("range of a value in host order", right.first);
      const [first, last] = [shape.encode(right.first), shape.encode(right.last)];
      if (right.first > right.last) throw invalid("range", `${right.first}-${right.last}`);
      compareRange(builder, first, last, negated);
      return;
    }
    case "anonymous":
      compileAnonymous(builder, left, right.elements, negated);
      return;
    default:
      unreachable(right);
  }
}

/** Loads an operand of which all bits count. */
function single(builder: RuleBuilder, left: Single): OperandShape {
  const shape = operandShape(left);
  if (shape.field !== undefined) throw invalid("comparison of a bit field, only values can be compared:", left.kind);
  loadOperand(builder, left);
  return shape;
}

function compare(builder: RuleBuilder, data: Uint8Array, negated: boolean): void {
  builder.expressions.push({ name: "cmp", sreg: REG_1, op: negated ? "neq" : "eq", data });
}

function mask(builder: RuleBuilder, bits: Uint8Array): void {
  builder.expressions.push({
    name: "bitwise",
    sreg: REG_1,
    dreg: REG_1,
    mask: bits,
    xor: new Uint8Array(bits.length),
    op: 0,
  });
}

function compareRange(builder: RuleBuilder, first: Uint8Array, last: Uint8Array, negated: boolean): void {
  if (negated) builder.expressions.push({ name: "range", sreg: REG_1, op: "neq", from: first, to: last });
  else
    builder.expressions.push(
      { name: "cmp", sreg: REG_1, op: "gte", data: first },
      { name: "cmp", sreg: REG_1, op: "lte", data: last },
    );
}

function compileValue(builder: RuleBuilder, left: Single, value: string | number, negated: boolean): void {
  const shape = operandShape(left);
  loadOperand(builder, left);
  if (shape.field === undefined) {
    const data = shape.encode(value);
    compare(builder, data, negated);
    if (!negated) remember(builder, left, data[0] ?? 0);
    return;
  }
  const number = Number(value);
  if (!Number.isInteger(number) || number < 0 || number > 63) throw invalid("DSCP", value);
  mask(builder, shape.field.mask);
  compare(builder, bigEndian(number << shape.field.shift, shape.bytes), negated);
}

/** What later statements of the rule may rely on. */
function remember(builder: RuleBuilder, left: Single, value: number): void {
  if (left.kind !== "meta") return;
  if (left.key === "l4proto") builder.l4proto = value;
  else if (left.key === "nfproto") builder.nfproto = value;
}

/** A prefix of whole bytes is compared by loading only those; others are masked. A /0 masks everything away. */
function compileCidr(builder: RuleBuilder, left: Single, text: string, negated: boolean): void {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw invalid("CIDR", text);
  const shape = operandShape(left);
  const address = addressBytes(maskCidr(cidr));
  if (shape.bytes !== address.length || shape.order !== "big") throw invalid("CIDR of another family", text);
  loadOperand(builder, left);
  const wholeBytes = cidr.prefixLength / 8;
  if (cidr.prefixLength > 0 && Number.isInteger(wholeBytes)) {
    const load = builder.expressions.pop();
    if (load?.name !== "payload") throw invalid("CIDR beside", left.kind);
    builder.expressions.push({ ...load, length: wholeBytes });
    compare(builder, address.subarray(0, wholeBytes), negated);
    return;
  }
  const bits = new Uint8Array(address.length);
  for (let i = 0; i < cidr.prefixLength; i++) bits[i >>> 3] = (bits[i >>> 3] ?? 0) | (0x80 >>> (i & 7));
  mask(builder, bits);
  compare(builder, address, negated);
}

function compilePrefix(builder: RuleBuilder, left: Single, prefix: string, negated: boolean): void {
  const shape = single(builder, left);
  const bytes = Buffer.from(prefix, "utf8");
  if (shape.bytes !== 16 || shape.order !== "host" || bytes.length === 0 || bytes.length > 15)
    throw invalid("interface prefix", prefix);
  compare(builder, Uint8Array.from(bytes), negated);
}

function compileMasked(
  builder: RuleBuilder,
  left: Single,
  right: { readonly mask: number; readonly value: number },
  negated: boolean,
): void {
  const shape = single(builder, left);
  const encode = (value: number): Uint8Array =>
    shape.order === "big" ? bigEndian(value >>> 0, shape.bytes) : littleEndian(value >>> 0, shape.bytes);
  if (shape.bytes > 4 || (shape.bytes < 4 && right.mask >>> (shape.bytes * 8) !== 0))
    throw invalid("mask", `0x${right.mask.toString(16)}`);
  mask(builder, encode(right.mask));
  compare(builder, encode(right.value), negated);
}

function compileAnonymous(
  builder: RuleBuilder,
  left: Single,
  elements: Extract<Match["right"], { kind: "anonymous" }>["elements"],
  negated: boolean,
): void {
  const shape = single(builder, left);
  const intervals = anonymousIntervals(shape, elements);
  const [only] = intervals;
  // A set of one is a comparison.
  if (intervals.length === 1 && only !== undefined) {
    if (!isSingle(only)) compareRange(builder, only.first, only.last, negated);
    else {
      compare(builder, only.first, negated);
      if (!negated) remember(builder, left, only.first[0] ?? 0);
    }
    return;
  }
  const setId = builder.sets.push(anonymousSet(shape, intervals)) - 1;
  builder.expressions.push({
    name: "lookup",
    sreg: REG_1,
    set: ANONYMOUS_SET_NAME,
    setId,
    map: false,
    inverted: negated,
  });
}
