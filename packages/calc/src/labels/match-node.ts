import { unreachable } from "@bulrush/base";
import { Op, type SelectorNode } from "@bulrush/selector";
import type { LabelKeys, LabelSet } from "./label-set.ts";

/**
 * A selector compiled for evaluation: label names are ids. All nodes are of one shape, so that the evaluator's reads
 * stay monomorphic.
 */
export class MatchNode {
  readonly op: Op;
  readonly key: number;
  readonly value: string;
  readonly values: ReadonlySet<string> | undefined;
  readonly operands: readonly MatchNode[] | undefined;

  constructor(
    op: Op,
    key: number,
    value: string,
    values: ReadonlySet<string> | undefined,
    operands: readonly MatchNode[] | undefined,
  ) {
    this.op = op;
    this.key = key;
    this.value = value;
    this.values = values;
    this.operands = operands;
  }
}

export function compileSelector(node: SelectorNode, keys: LabelKeys): MatchNode {
  switch (node.op) {
    case Op.all:
    case Op.global:
      return new MatchNode(node.op, -1, "", undefined, undefined);
    case Op.has:
      return new MatchNode(node.op, keys.idOf(node.label), "", undefined, undefined);
    case Op.equal:
    case Op.notEqual:
    case Op.contains:
    case Op.startsWith:
    case Op.endsWith:
      return new MatchNode(node.op, keys.idOf(node.label), node.value, undefined, undefined);
    case Op.in:
    case Op.notIn:
      return new MatchNode(node.op, keys.idOf(node.label), "", node.values, undefined);
    case Op.and:
    case Op.or:
    case Op.not: {
      const operands: MatchNode[] = [];
      for (const operand of node.operands) operands.push(compileSelector(operand, keys));
      return new MatchNode(node.op, -1, "", undefined, operands);
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

/** True when the labels of `item` satisfy the selector. Allocates nothing. */
export function matches(node: MatchNode, item: Labelled): boolean {
  switch (node.op) {
    case Op.all:
    case Op.global:
      return true;
    case Op.has:
      return effectiveLabel(item, node.key) !== undefined;
    case Op.equal:
      return effectiveLabel(item, node.key) === node.value;
    case Op.notEqual:
      return effectiveLabel(item, node.key) !== node.value;
    case Op.contains: {
      const value = effectiveLabel(item, node.key);
      return value !== undefined && value.includes(node.value);
    }
    case Op.startsWith: {
      const value = effectiveLabel(item, node.key);
      return value !== undefined && value.startsWith(node.value);
    }
    case Op.endsWith: {
      const value = effectiveLabel(item, node.key);
      return value !== undefined && value.endsWith(node.value);
    }
    case Op.in: {
      const value = effectiveLabel(item, node.key);
      return value !== undefined && (node.values as ReadonlySet<string>).has(value);
    }
    case Op.notIn: {
      const value = effectiveLabel(item, node.key);
      return value === undefined || !(node.values as ReadonlySet<string>).has(value);
    }
    case Op.and: {
      const operands = node.operands as readonly MatchNode[];
      for (let i = 0; i < operands.length; i++) if (!matches(operands[i] as MatchNode, item)) return false;
      return true;
    }
    case Op.or: {
      const operands = node.operands as readonly MatchNode[];
      for (let i = 0; i < operands.length; i++) if (matches(operands[i] as MatchNode, item)) return true;
      return false;
    }
    case Op.not:
      return !matches((node.operands as readonly MatchNode[])[0] as MatchNode, item);
    default:
      return unreachable(node.op);
  }
}
