import { unreachable } from "@bulrush/base";
import { Op, type SelectorNode } from "./node.ts";

/**
 * What every matching set of labels must satisfy for one label. Used by indexes to find candidates: it may be weaker
 * than the selector, never stronger.
 */
export interface LabelRestriction {
  readonly mustBePresent: boolean;
  readonly mustBeAbsent: boolean;
  /** Sorted; `undefined` for any value; empty when no value will do, so that the selector matches nothing. */
  readonly mustHaveOneOfValues: readonly string[] | undefined;
}

/** By label; a label that is not in it may be anything. */
export type LabelRestrictions = ReadonlyMap<string, LabelRestriction>;

const PRESENT: LabelRestriction = { mustBePresent: true, mustBeAbsent: false, mustHaveOneOfValues: undefined };
const ABSENT: LabelRestriction = { mustBePresent: false, mustBeAbsent: true, mustHaveOneOfValues: undefined };

function oneOf(values: readonly string[]): LabelRestriction {
  return { mustBePresent: true, mustBeAbsent: false, mustHaveOneOfValues: values };
}

function both(a: LabelRestriction, b: LabelRestriction): LabelRestriction {
  let values = a.mustHaveOneOfValues ?? b.mustHaveOneOfValues;
  if (a.mustHaveOneOfValues !== undefined && b.mustHaveOneOfValues !== undefined) {
    const allowed = new Set(b.mustHaveOneOfValues);
    values = a.mustHaveOneOfValues.filter((value) => allowed.has(value));
  }
  return {
    mustBePresent: a.mustBePresent || b.mustBePresent,
    mustBeAbsent: a.mustBeAbsent || b.mustBeAbsent,
    mustHaveOneOfValues: values,
  };
}

/** What holds when any of `all` does; `undefined` when that is nothing. */
function anyOf(all: readonly LabelRestriction[]): LabelRestriction | undefined {
  const mustBePresent = all.every((one) => one.mustBePresent);
  const mustBeAbsent = all.every((one) => one.mustBeAbsent);
  const values = all.some((one) => one.mustHaveOneOfValues === undefined)
    ? undefined
    : [...new Set(all.flatMap((one) => one.mustHaveOneOfValues ?? []))].sort();
  if (!mustBePresent && !mustBeAbsent && values === undefined) return undefined;
  return { mustBePresent, mustBeAbsent, mustHaveOneOfValues: values };
}

/** Adds what `node` restricts to what `out` holds already, which must hold as well. */
function restrictFurther(node: SelectorNode, out: Map<string, LabelRestriction>): void {
  if (node.op === Op.and) {
    for (const operand of node.operands) restrictFurther(operand, out);
    return;
  }
  if (node.op === Op.or) {
    for (const [label, restriction] of unite(node.operands)) addRestriction(label, restriction, out);
    return;
  }
  const term = node.op === Op.not ? node.operands[0] : node;
  const restriction = ofTerm(node);
  if (restriction !== undefined && "label" in term) addRestriction(term.label, restriction, out);
}

function addRestriction(label: string, restriction: LabelRestriction, out: Map<string, LabelRestriction>): void {
  const known = out.get(label);
  out.set(label, known === undefined ? restriction : both(known, restriction));
}

/** What a condition, or the negation of one, says of its label; `undefined`: nothing that an index could use, or a group. */
function ofTerm(node: SelectorNode): LabelRestriction | undefined {
  switch (node.op) {
    case Op.has:
    case Op.contains:
    case Op.startsWith:
    case Op.endsWith:
      return PRESENT;
    case Op.equal:
      return oneOf([node.value]);
    case Op.in:
      return oneOf([...node.values]);
    case Op.not:
      return node.operands[0].op === Op.has ? ABSENT : undefined;
    case Op.all:
    case Op.global:
    case Op.notEqual:
    case Op.notIn:
    case Op.and:
    case Op.or:
      return undefined;
    default:
      return unreachable(node);
  }
}

/** One pass over all the operands: pairwise, a long `||` would cost the square of its length. */
function unite(operands: readonly SelectorNode[]): LabelRestrictions {
  const byLabel = new Map<string, LabelRestriction[]>();
  for (const [index, operand] of operands.entries()) {
    for (const [label, restriction] of restrictionsOf(operand)) {
      const list = byLabel.get(label);
      if (list !== undefined) list.push(restriction);
      else if (index === 0) byLabel.set(label, [restriction]);
    }
  }
  const out = new Map<string, LabelRestriction>();
  for (const [label, list] of byLabel) {
    const restriction = list.length === operands.length ? anyOf(list) : undefined;
    if (restriction !== undefined) out.set(label, restriction);
  }
  return out;
}

/** The restrictions that a tree puts on each label; labels without any are left out. */
export function restrictionsOf(node: SelectorNode): LabelRestrictions {
  if (node.op === Op.or) return unite(node.operands);
  const out = new Map<string, LabelRestriction>();
  restrictFurther(node, out);
  return out;
}
