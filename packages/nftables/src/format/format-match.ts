import { anonymousIntervals, isSingle } from "../compile/anonymous-set.ts";
import { operandShape } from "../compile/operand-shape.ts";
import type { Literal, Operand, Right, Statement } from "../statement.ts";
import { compareBytes } from "../wire/bytes.ts";
import { formatLiteral, hex32, quoted } from "./format-literal.ts";

type Match = Extract<Statement, { kind: "match" }>;

/** nft's names of the bits of `ct state` and `ct status`, low bits first. */
const CT_BITS = {
  state: new Map([
    [1, "invalid"],
    [2, "established"],
    [4, "related"],
    [8, "new"],
    [64, "untracked"],
  ]),
  status: new Map([
    [1, "expected"],
    [2, "seen-reply"],
    [4, "assured"],
    [8, "confirmed"],
    [0x10, "snat"],
    [0x20, "dnat"],
    [0x200, "dying"],
  ]),
} as const;

export function formatOperand(operand: Operand): string {
  switch (operand.kind) {
    case "payload":
      return operand.field === "icmp type-code" ? "@th,0,16" : operand.field;
    case "meta":
      return operand.key === "iifname" || operand.key === "oifname" ? operand.key : `meta ${operand.key}`;
    case "ct":
      return `ct ${operand.key}`;
    case "fib":
      return `fib ${operand.flags.join(" . ")} ${operand.result}`;
    case "concat":
      return operand.parts.map(formatOperand).join(" . ");
  }
}

export function formatMatch(match: Match): string {
  const left = formatOperand(match.left);
  const { right } = match;
  if (right.kind === "masked") return formatMasked(match.left, left, match.op, right);
  // Without an operator nft reads a value of a bit field as "has one of these bits".
  const isBits = match.left.kind === "ct" && (match.left.key === "state" || match.left.key === "status");
  const operator = match.op === "!=" ? " !=" : isBits && right.kind === "value" ? " ==" : "";
  return `${left}${operator} ${formatRight(match.left, right)}`;
}

function formatRight(operand: Operand, right: Exclude<Right, { kind: "masked" }>): string {
  switch (right.kind) {
    case "value":
      return formatLiteral(operand, right.value);
    case "cidr":
      return right.cidr.replace(right.cidr.includes(":") ? /\/128$/ : /\/32$/, "");
    case "prefix":
      return quoted(`${right.prefix}*`);
    case "range":
      return `${right.first}-${right.last}`;
    case "set":
      return `@${right.name}`;
    case "anonymous":
      return formatAnonymous(operand, right.elements);
  }
}

function formatMasked(
  operand: Operand,
  left: string,
  op: "==" | "!=",
  right: { readonly mask: number; readonly value: number },
): string {
  if (operand.kind === "ct" && (operand.key === "state" || operand.key === "status") && right.value === 0) {
    const names = bitNames(CT_BITS[operand.key], right.mask);
    if (op === "!=" && names !== undefined) return `${left} ${names.join(",")}`;
    return `${left} & ${names?.length === 1 ? names[0] : `0x${right.mask.toString(16)}`} ${op} 0`;
  }
  return `${left} & ${hex32(right.mask)} ${op} ${hex32(right.value)}`;
}

/** The names of all bits, or `undefined` when one of them has none. */
function bitNames(names: ReadonlyMap<number, string>, mask: number): string[] | undefined {
  const found: string[] = [];
  let rest = mask;
  for (const [bit, name] of names)
    if ((rest & bit) !== 0) {
      found.push(name);
      rest &= ~bit;
    }
  return rest === 0 && found.length > 0 ? found : undefined;
}

/** The elements sorted and joined as they are programmed. */
function formatAnonymous(operand: Operand, elements: Extract<Right, { kind: "anonymous" }>["elements"]): string {
  if (operand.kind === "concat") return "{ }";
  const shape = operandShape(operand);
  // Values are sorted by their bytes, and printed as the caller gave them.
  const given = elements.filter((element): element is Literal => typeof element !== "object");
  const textOf = (bytes: Uint8Array): string => {
    const literal = given.find((value) => compareBytes(shape.encode(value), bytes) === 0);
    return formatLiteral(operand, literal ?? bytes.reduce((sum, byte) => sum * 256 + byte, 0));
  };
  const texts = anonymousIntervals(shape, elements).map((interval) =>
    isSingle(interval) ? textOf(interval.first) : `${textOf(interval.first)}-${textOf(interval.last)}`,
  );
  return texts.length === 1 ? (texts[0] ?? "") : `{ ${texts.join(", ")} }`;
}
