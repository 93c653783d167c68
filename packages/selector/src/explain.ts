import { evaluateNode, type LabelReader } from "./evaluate.ts";
import { formatNode } from "./format.ts";
import { Op, type SelectorNode } from "./node.ts";
import type { Selector } from "./selector.ts";

/** One term that keeps a selector from matching. */
export interface TermMismatch {
  /** Canonical text of the term, without the negations around it. */
  readonly term: string;
  /** What the selector needs the term to be; it is the opposite. */
  readonly wanted: boolean;
  /** The label that the term reads; `undefined` for `all()` and `global()`. */
  readonly label: string | undefined;
  /** What the label is; `undefined` where it is missing. */
  readonly actual: string | undefined;
  /** A sentence: `a == "b" does not hold: a is "c"`. */
  readonly message: string;
}

/**
 * Why the labels do not satisfy the selector: each term that is not as it would have to be, in the order written.
 * Of an `&&`, the operands that fail; of an `||`, all of them. Empty when the selector matches.
 */
export function explainMismatch(selector: Selector, labels: LabelReader): readonly TermMismatch[] {
  const out: TermMismatch[] = [];
  if (!evaluateNode(selector.root, labels)) collect(selector.root, true, labels, out);
  return out;
}

/** The label that a term reads. */
function labelOf(node: SelectorNode): string | undefined {
  switch (node.op) {
    case Op.all:
    case Op.global:
    case Op.and:
    case Op.or:
    case Op.not:
      return undefined;
    default:
      return node.label;
  }
}

/** Called only where the node is the opposite of `wanted`. */
function collect(node: SelectorNode, wanted: boolean, labels: LabelReader, out: TermMismatch[]): void {
  if (node.op === Op.not) {
    collect(node.operands[0], !wanted, labels, out);
    return;
  }
  if (node.op === Op.and || node.op === Op.or) {
    for (const operand of node.operands)
      if (evaluateNode(operand, labels) !== wanted) collect(operand, wanted, labels, out);
    return;
  }
  const term = formatNode(node);
  const label = labelOf(node);
  const actual = label === undefined ? undefined : labels.get(label);
  const state = label === undefined ? "" : `: ${label} is ${actual === undefined ? "missing" : JSON.stringify(actual)}`;
  out.push({ term, wanted, label, actual, message: `${term} ${wanted ? "does not hold" : "holds"}${state}` });
}
