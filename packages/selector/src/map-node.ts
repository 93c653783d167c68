import { unreachable } from "@bulrush/base";
import { andNode, compareLabel, hasLabel, labelInSet, notNode, Op, orNode, type SelectorNode } from "./node.ts";

/**
 * A copy of the tree with every node replaced by what `replace` returns for it, operands first: `replace` sees a group
 * after its operands were replaced. Parts that do not change are shared, not copied.
 */
export function mapNode(node: SelectorNode, replace: (node: SelectorNode) => SelectorNode): SelectorNode {
  if (node.op !== Op.and && node.op !== Op.or && node.op !== Op.not) return replace(node);
  const operands = node.operands.map((operand) => mapNode(operand, replace));
  if (operands.every((operand, i) => operand === node.operands[i])) return replace(node);
  if (node.op === Op.and) return replace(andNode(operands));
  if (node.op === Op.or) return replace(orNode(operands));
  const negated = notNode(operands[0] as SelectorNode);
  return replace(negated);
}

/** A copy of the tree with `prefix` before every label name. Throws SELECTOR_UNWRITABLE when a name gets too long. */
export function prefixNode(node: SelectorNode, prefix: string): SelectorNode {
  return mapNode(node, (found) => {
    switch (found.op) {
      case Op.has:
        return hasLabel(prefix + found.label);
      case Op.equal:
      case Op.notEqual:
      case Op.contains:
      case Op.startsWith:
      case Op.endsWith:
        return compareLabel(found.op, prefix + found.label, found.value);
      case Op.in:
      case Op.notIn:
        return labelInSet(found.op, prefix + found.label, found.values);
      case Op.all:
      case Op.global:
      case Op.and:
      case Op.or:
      case Op.not:
        return found;
      default:
        return unreachable(found);
    }
  });
}
