import { unreachable } from "@bulrush/base";
import { Op, type SelectorNode } from "./node.ts";

/** Where a selector reads labels from. A `Map` fits; an endpoint that inherits labels may look further. */
export interface LabelReader {
  /** The value of a label, `undefined` where it is missing. An empty value is a present label. */
  get(name: string): string | undefined;
}

/**
 * True when the labels satisfy the tree. A missing label makes a term false, except `!=` and `not in`, which hold.
 * Allocates nothing; the recursion is bounded by the depth bound of the parser.
 */
export function evaluateNode(node: SelectorNode, labels: LabelReader): boolean {
  switch (node.op) {
    case Op.all:
    case Op.global:
      return true;
    case Op.has:
      return labels.get(node.label) !== undefined;
    case Op.equal:
      return labels.get(node.label) === node.value;
    case Op.notEqual:
      return labels.get(node.label) !== node.value;
    case Op.contains: {
      const value = labels.get(node.label);
      return value !== undefined && value.includes(node.value);
    }
    case Op.startsWith: {
      const value = labels.get(node.label);
      return value !== undefined && value.startsWith(node.value);
    }
    case Op.endsWith: {
      const value = labels.get(node.label);
      return value !== undefined && value.endsWith(node.value);
    }
    case Op.in: {
      const value = labels.get(node.label);
      return value !== undefined && node.values.has(value);
    }
    case Op.notIn: {
      const value = labels.get(node.label);
      return value === undefined || !node.values.has(value);
    }
    case Op.and: {
      const { operands } = node;
      for (let i = 0; i < operands.length; i++) if (!evaluateNode(operands[i] as SelectorNode, labels)) return false;
      return true;
    }
    case Op.or: {
      const { operands } = node;
      for (let i = 0; i < operands.length; i++) if (evaluateNode(operands[i] as SelectorNode, labels)) return true;
      return false;
    }
    case Op.not:
      return !evaluateNode(node.operands[0], labels);
    default:
      return unreachable(node);
  }
}
