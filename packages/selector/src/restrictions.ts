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

export type LabelRestrictions = ReadonlyMap<string, LabelRestriction>;

const NONE: LabelRestrictions = new Map();
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

function intersect(operands: readonly SelectorNode[]): LabelRestrictions {
  const out = new Map<string, LabelRestriction>();
  for (const operand of operands) {
    for (const [label, restriction] of restrictionsOf(operand)) {
      const known = out.get(label);
      out.set(label, known === undefined ? restriction : both(known, restriction));
    }
  }
  return out;
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
  switch (node.op) {
    case Op.has:
    case Op.contains:
    case Op.startsWith:
    case Op.endsWith:
      return new Map([[node.label, PRESENT]]);
    case Op.equal:
      return new Map([[node.label, oneOf([node.value])]]);
    case Op.in:
      return new Map([[node.label, oneOf([...node.values])]]);
    case Op.not: {
      const [operand] = node.operands;
      return operand.op === Op.has ? new Map([[operand.label, ABSENT]]) : NONE;
    }
    case Op.and:
      return intersect(node.operands);
    case Op.or:
      return unite(node.operands);
    case Op.all:
    case Op.global:
    case Op.notEqual:
    case Op.notIn:
      return NONE;
    default:
      return unreachable(node);
  }
}
