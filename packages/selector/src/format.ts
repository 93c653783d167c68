import { unreachable } from "@bulrush/base";
import { Op, type SelectorNode } from "./node.ts";

function writeQuoted(value: string, out: string[]): void {
  const quote = value.includes('"') ? "'" : '"';
  out.push(quote, value, quote);
}

function writeValue(label: string, operator: string, value: string, out: string[]): void {
  out.push(label, operator);
  writeQuoted(value, out);
}

function writeSet(label: string, operator: string, values: ReadonlySet<string>, out: string[]): void {
  out.push(label, operator, "{");
  let isFirst = true;
  for (const value of values) {
    if (!isFirst) out.push(", ");
    isFirst = false;
    writeQuoted(value, out);
  }
  out.push("}");
}

function writeGroup(operands: readonly SelectorNode[], joiner: string, out: string[]): void {
  out.push("(");
  for (const [index, operand] of operands.entries()) {
    if (index > 0) out.push(joiner);
    writeNode(operand, out);
  }
  out.push(")");
}

/**
 * The canonical text of a tree: `label op "value"` in long spelling, sets sorted, and/or groups always in
 * parentheses, one blank around each operator. Equal trees have equal text, and parsing it gives the tree again.
 */
export function formatNode(node: SelectorNode): string {
  // Joined, not added up: the text is a key for as long as its policy lives, and a sum would keep all its pieces.
  const out: string[] = [];
  writeNode(node, out);
  return out.join("");
}

function writeNode(node: SelectorNode, out: string[]): void {
  switch (node.op) {
    case Op.all:
      out.push("all()");
      return;
    case Op.global:
      out.push("global()");
      return;
    case Op.has:
      out.push("has(", node.label, ")");
      return;
    case Op.equal:
      return writeValue(node.label, " == ", node.value, out);
    case Op.notEqual:
      return writeValue(node.label, " != ", node.value, out);
    case Op.contains:
      return writeValue(node.label, " contains ", node.value, out);
    case Op.startsWith:
      return writeValue(node.label, " starts with ", node.value, out);
    case Op.endsWith:
      return writeValue(node.label, " ends with ", node.value, out);
    case Op.in:
      return writeSet(node.label, " in ", node.values, out);
    case Op.notIn:
      return writeSet(node.label, " not in ", node.values, out);
    case Op.and:
      return writeGroup(node.operands, " && ", out);
    case Op.or:
      return writeGroup(node.operands, " || ", out);
    case Op.not:
      out.push("!");
      return writeNode(node.operands[0], out);
    default:
      return unreachable(node);
  }
}
