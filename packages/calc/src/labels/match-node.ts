import { unreachable } from "@bulrush/base";
import { Op, type SelectorNode } from "@bulrush/selector";
import type { LabelKeys, LabelSet } from "./label-set.ts";

/** Up to so many values are compared one by one; hashing a text costs as much as several comparisons. */
const MAX_LISTED = 8;

/**
 * A selector compiled for evaluation: label names are ids. All nodes are of one shape, so that the evaluator's reads
 * stay monomorphic.
 */
export class MatchNode {
  readonly op: Op;
  readonly key: number;
  readonly value: string;
  /** The values of a set of few. */
  readonly few: readonly string[];
  /** The values of a set of many. */
  readonly many: ReadonlySet<string> | undefined;
  readonly operands: readonly MatchNode[];

  constructor(op: Op, key: number, value: string, values: ReadonlySet<string>, operands: readonly MatchNode[]) {
    this.op = op;
    this.key = key;
    this.value = value;
    this.few = values.size === 0 || values.size > MAX_LISTED ? NO_FEW : [...values];
    this.many = values.size > MAX_LISTED ? values : undefined;
    this.operands = operands;
  }
}

const NO_FEW: readonly string[] = [];
const NO_VALUES: ReadonlySet<string> = new Set();
const NO_OPERANDS: readonly MatchNode[] = [];

export function compileSelector(node: SelectorNode, keys: LabelKeys): MatchNode {
  switch (node.op) {
    case Op.all:
    case Op.global:
      return new MatchNode(node.op, -1, "", NO_VALUES, NO_OPERANDS);
    case Op.has:
      return new MatchNode(node.op, keys.idOf(node.label), "", NO_VALUES, NO_OPERANDS);
    case Op.equal:
    case Op.notEqual:
    case Op.contains:
    case Op.startsWith:
    case Op.endsWith:
      return new MatchNode(node.op, keys.idOf(node.label), node.value, NO_VALUES, NO_OPERANDS);
    case Op.in:
    case Op.notIn:
      return new MatchNode(node.op, keys.idOf(node.label), "", node.values, NO_OPERANDS);
    case Op.and:
    case Op.or:
    case Op.not: {
      const operands: MatchNode[] = [];
      for (const operand of node.operands) {
        const compiled = compileSelector(operand, keys);
        // A group in a group of the same kind: translated policies are full of them.
        if (compiled.op === node.op && node.op !== Op.not) operands.push(...compiled.operands);
        else operands.push(compiled);
      }
      // A copy has exactly the length it needs.
      return new MatchNode(node.op, -1, "", NO_VALUES, operands.slice());
    }
    default:
      return unreachable(node);
  }
}

/** Something with labels of its own and of the profiles that it has. */
export interface Labelled {
  readonly labels: LabelSet;
  readonly parents: readonly { readonly labels: LabelSet }[];
}

/** The label that counts: the thing's own, else that of the first profile in its list that has it. */
function effectiveLabel(item: Labelled, key: number): string | undefined {
  const own = item.labels;
  for (let i = 0; i < own.length; i += 2) if (own[i] === key) return own[i + 1] as string;
  const { parents } = item;
  for (let p = 0; p < parents.length; p++) {
    const inherited = (parents[p] as { readonly labels: LabelSet }).labels;
    for (let i = 0; i < inherited.length; i += 2) if (inherited[i] === key) return inherited[i + 1] as string;
  }
  return undefined;
}

function hasValue(node: MatchNode, value: string): boolean {
  const { few, many } = node;
  if (many !== undefined) return many.has(value);
  for (let i = 0; i < few.length; i++) if (few[i] === value) return true;
  return false;
}

/**
 * A condition on one label, or a constant: those come before the groups in {@link Op}. Apart from `matches`, so that it
 * can be inlined there: it does not call itself.
 */
function matchesTerm(node: MatchNode, item: Labelled): boolean {
  const { op } = node;
  if (op <= Op.global) return true;
  const value = effectiveLabel(item, node.key);
  if (value === undefined) return op === Op.notEqual || op === Op.notIn;
  switch (op) {
    case Op.has:
      return true;
    case Op.equal:
      return value === node.value;
    case Op.in:
      return hasValue(node, value);
    case Op.notEqual:
      return value !== node.value;
    case Op.notIn:
      return !hasValue(node, value);
    case Op.contains:
      return value.includes(node.value);
    case Op.startsWith:
      return value.startsWith(node.value);
    case Op.endsWith:
      return value.endsWith(node.value);
    default:
      return unreachable(op as never);
  }
}

/** True when the labels of `item` satisfy the selector. Allocates nothing. */
export function matches(node: MatchNode, item: Labelled): boolean {
  const { op, operands } = node;
  if (op < Op.and) return matchesTerm(node, item);
  if (op === Op.not) return !matches(operands[0] as MatchNode, item);
  const wanted = op === Op.or;
  for (let i = 0; i < operands.length; i++) {
    const operand = operands[i] as MatchNode;
    if ((operand.op < Op.and ? matchesTerm(operand, item) : matches(operand, item)) === wanted) return wanted;
  }
  return !wanted;
}
