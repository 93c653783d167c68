import { unreachable } from "@bulrush/base";
import { Op, type SelectorNode } from "./node.ts";

function quote(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}

function formatSet(values: ReadonlySet<string>): string {
  let text = "";
  for (const value of values) text += text === "" ? quote(value) : `, ${quote(value)}`;
  return `{${text}}`;
}

function formatGroup(operands: readonly SelectorNode[], joiner: string): string {
  let text = "";
  for (const operand of operands) text += text === "" ? formatNode(operand) : joiner + formatNode(operand);
  return `(${text})`;
}

/**
 * The canonical text of a tree: `label op "value"` in long spelling, sets sorted, and/or groups always in
 * parentheses, one blank around each operator. Equal trees have equal text, and parsing it gives the tree again.
 */
export function formatNode(node: SelectorNode): string {
  switch (node.op) {
    case Op.all:
      return "all()";
    case Op.global:
      return "global()";
    case Op.has:
      return `has(${node.label})`;
    case Op.equal:
      return `${node.label} == ${quote(node.value)}`;
    case Op.notEqual:
      return `${node.label} != ${quote(node.value)}`;
    case Op.contains:
      return `${node.label} contains ${quote(node.value)}`;
    case Op.startsWith:
      return `${node.label} starts with ${quote(node.value)}`;
    case Op.endsWith:
      return `${node.label} ends with ${quote(node.value)}`;
    case Op.in:
      return `${node.label} in ${formatSet(node.values)}`;
    case Op.notIn:
      return `${node.label} not in ${formatSet(node.values)}`;
    case Op.and:
      return formatGroup(node.operands, " && ");
    case Op.or:
      return formatGroup(node.operands, " || ");
    case Op.not:
      return `!${formatNode(node.operands[0])}`;
    default:
      return unreachable(node);
  }
}
