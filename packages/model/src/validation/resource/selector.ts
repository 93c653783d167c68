import { AUTHORED_BOUNDS, Op, type Selector, type SelectorNode, readSelector } from "@bulrush/selector";
import { isAbsent } from "../field.ts";
import { expectedBut, type IssueList } from "../issue.ts";

function hasGlobal(node: SelectorNode): boolean {
  switch (node.op) {
    case Op.global:
      return true;
    case Op.and:
    case Op.or:
    case Op.not:
      return node.operands.some(hasGlobal);
    default:
      return false;
  }
}

function read(issues: IssueList, path: string, value: unknown): Selector | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value !== "string") {
    issues.add(path, expectedBut("a selector", value));
    return undefined;
  }
  const result = readSelector(value, AUTHORED_BOUNDS);
  if (result.ok) return result.selector;
  issues.add(path, result.error.message);
  return undefined;
}

/** A selector in which `global()` means nothing and so may not stand. */
export function checkSelector(issues: IssueList, path: string, value: unknown): void {
  const selector = read(issues, path, value);
  if (selector !== undefined && hasGlobal(selector.root))
    issues.add(path, "global() may only stand in the namespaceSelector of a rule");
}

/** The namespaceSelector of a rule: `global()` may stand there, but only alone. */
export function checkRuleNamespaceSelector(issues: IssueList, path: string, value: unknown): void {
  const selector = read(issues, path, value);
  if (selector !== undefined && selector.root.op !== Op.global && hasGlobal(selector.root))
    issues.add(path, "global() may only stand alone");
}
