import { align4 } from "@bulrush/netlink";
import type { Expression } from "../expression/expression.ts";
import { META_KEY } from "../expression/meta.ts";
import { invalid } from "../invalid.ts";
import type { TableFamily } from "../state.ts";
import type { Operand } from "../statement.ts";
import { REG_1, registerAt } from "../wire/register.ts";
import type { AnonymousSet } from "./anonymous-set.ts";
import { type OperandShape, operandParts, operandShape } from "./operand-shape.ts";

/** What is being built, and what the rule is known to have matched so far. */
export interface RuleBuilder {
  readonly family: TableFamily;
  readonly expressions: Expression[];
  readonly sets: AnonymousSet[];
  l4proto: number | undefined;
  nfproto: number | undefined;
}

/**
 * Loads an operand, the fields of a concatenation side by side from register 1 on, each at the next word. Returns the
 * shapes of the fields.
 */
export function loadOperand(builder: RuleBuilder, operand: Operand): OperandShape[] {
  const shapes = operandParts(operand).map(operandShape);
  for (const shape of shapes) requireProtocols(builder, shape);
  let word = 0;
  for (const shape of shapes) {
    builder.expressions.push(shape.load(registerAt(word)));
    word += align4(shape.bytes) / 4;
  }
  return shapes;
}

/** Adds the protocol matches without which a field is not what its name says, unless the rule has them already. */
function requireProtocols(builder: RuleBuilder, shape: OperandShape): void {
  if (shape.network !== undefined) requireNetwork(builder, shape.network);
  if (shape.transport !== undefined && builder.l4proto !== shape.transport) {
    if (builder.l4proto !== undefined) throw invalid("match of another protocol than the rule's", shape.transport);
    matchMeta(builder, META_KEY.l4proto, shape.transport);
    builder.l4proto = shape.transport;
  }
}

function requireNetwork(builder: RuleBuilder, network: 4 | 6): void {
  const wanted = network === 4 ? 2 : 10;
  if (builder.family === "inet") {
    if (builder.nfproto === wanted) return;
    if (builder.nfproto !== undefined) throw invalid("match of another network protocol than the rule's", network);
    matchMeta(builder, META_KEY.nfproto, wanted);
    builder.nfproto = wanted;
  } else if ((builder.family === "ip" ? 4 : builder.family === "ip6" ? 6 : 0) !== network)
    throw invalid(`match in a table of family ${builder.family}: IP version`, network);
}

function matchMeta(builder: RuleBuilder, key: number, value: number): void {
  builder.expressions.push(
    { name: "meta", direction: "load", key, register: REG_1 },
    { name: "cmp", sreg: REG_1, op: "eq", data: Uint8Array.of(value) },
  );
}
