import { Op, parseSelector, type SelectorNode } from "@bulrush/selector";

/** Whether labels satisfy a selector: section by section as the language is defined, with nothing prepared. */
export function naiveMatch(text: string, labels: ReadonlyMap<string, string>): boolean {
  return holds(rootOf(text), labels);
}

const roots = new Map<string, SelectorNode>();

function rootOf(text: string): SelectorNode {
  let root = roots.get(text);
  if (root === undefined) {
    if (roots.size > 10_000) roots.clear();
    roots.set(text, (root = parseSelector(text).root));
  }
  return root;
}

function holds(node: SelectorNode, labels: ReadonlyMap<string, string>): boolean {
  switch (node.op) {
    case Op.all:
    case Op.global:
      return true;
    case Op.has:
      return labels.has(node.label);
    case Op.equal:
      return labels.get(node.label) === node.value;
    case Op.notEqual:
      return labels.get(node.label) !== node.value;
    case Op.contains:
      return labels.get(node.label)?.includes(node.value) ?? false;
    case Op.startsWith:
      return labels.get(node.label)?.startsWith(node.value) ?? false;
    case Op.endsWith:
      return labels.get(node.label)?.endsWith(node.value) ?? false;
    case Op.in:
      return [...node.values].some((value) => labels.get(node.label) === value);
    case Op.notIn:
      return ![...node.values].some((value) => labels.get(node.label) === value);
    case Op.and:
      return node.operands.every((operand) => holds(operand, labels));
    case Op.or:
      return node.operands.some((operand) => holds(operand, labels));
    case Op.not:
      return !holds(node.operands[0], labels);
  }
}

const OPERATOR_NAMES: ReadonlyMap<number, string> = new Map(Object.entries(Op).map(([name, op]) => [op, name]));

/** The operators of a selector, by name, for what the random contents must cover. */
export function operatorsOf(text: string): readonly string[] {
  const out: string[] = [];
  const walk = (node: SelectorNode): void => {
    out.push(OPERATOR_NAMES.get(node.op) ?? "?");
    if (node.op === Op.and || node.op === Op.or || node.op === Op.not) for (const one of node.operands) walk(one);
  };
  walk(rootOf(text));
  return out;
}
