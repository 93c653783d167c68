import { hasLabel, Op, Selector, compareLabel } from "@bulrush/selector";
import { NAMESPACE_LABEL } from "./well-known.ts";

/**
 * The selector term for what is in a namespace. An API server lets no quote into a name, but not every store has one:
 * such a name never ends the term, and where it cannot be written at all the term stands for every namespace.
 */
export function namespaceTerm(namespace: string): string {
  if (!namespace.includes("'")) return `${NAMESPACE_LABEL} == '${namespace}'`;
  const node = namespace.includes('"') ? hasLabel(NAMESPACE_LABEL) : compareLabel(Op.equal, NAMESPACE_LABEL, namespace);
  return new Selector(node).text;
}
