import {
  type EntityRule,
  NAMESPACE_LABEL,
  NAMESPACE_LABEL_PREFIX,
  SERVICE_ACCOUNT_LABEL,
  SERVICE_ACCOUNT_LABEL_PREFIX,
} from "@bulrush/model";
import {
  compareLabel,
  hasLabel,
  labelInSet,
  mapSelector,
  notNode,
  Op,
  parseSelector,
  prefixLabels,
  Selector,
  type SelectorNode,
} from "@bulrush/selector";

/** `all()` and `global()` replaced in the tree, where a text search would also hit values and other selectors. */
function replaceConstants(selector: Selector, all: SelectorNode, global?: SelectorNode): Selector {
  return mapSelector(selector, (node) => (node.op === Op.all ? all : node.op === Op.global ? (global ?? node) : node));
}

/** Canonical text of a selector over profile labels. */
function profileSelector(text: string, prefix: string): Selector {
  return prefixLabels(parseSelector(text), prefix);
}

function isBlank(text: string | undefined | null): boolean {
  return text === undefined || text === null || text.trim() === "";
}

function namespaceTerm(namespace: string): string {
  // An API server lets no quote into a name, but not every store has one.
  return namespace.includes("'")
    ? new Selector(compareLabel(Op.equal, NAMESPACE_LABEL, namespace)).text
    : `${NAMESPACE_LABEL} == '${namespace}'`;
}

export interface AppliesTo {
  readonly selector?: string;
  readonly serviceAccountSelector?: string;
  readonly namespaceSelector?: string;
}

/**
 * The one selector that says which endpoints a policy is for. All selectors of `spec` must be readable.
 *
 * @param namespace "" for the global kinds.
 */
export function appliesToSelector(spec: AppliesTo, namespace: string): string {
  let text = isBlank(spec.selector) ? "" : (spec.selector as string);
  if (namespace !== "") text = text === "" ? namespaceTerm(namespace) : `(${text}) && ${namespaceTerm(namespace)}`;
  const add = (extra: string | undefined, prefix: string, label: string): void => {
    if (isBlank(extra)) return;
    let selector = profileSelector(extra as string, prefix);
    // In a namespace every workload has one anyway; without one, "any namespace" leaves out what is in none.
    if (namespace === "") selector = replaceConstants(selector, hasLabel(label));
    text = text === "" ? selector.text : `(${text}) && ${selector.text}`;
  };
  if (namespace === "") add(spec.namespaceSelector, NAMESPACE_LABEL_PREFIX, NAMESPACE_LABEL);
  add(spec.serviceAccountSelector, SERVICE_ACCOUNT_LABEL_PREFIX, SERVICE_ACCOUNT_LABEL);
  return text;
}

/** A namespace selector of a rule, over the labels that the graph knows. */
function ruleNamespaceSelector(text: string): string {
  const inNamespace = hasLabel(NAMESPACE_LABEL);
  return replaceConstants(profileSelector(text, NAMESPACE_LABEL_PREFIX), inNamespace, notNode(inNamespace)).text;
}

/** The service accounts of one side of a rule; "" for no condition. */
function serviceAccountSelector(match: EntityRule["serviceAccounts"]): string {
  if (match === undefined || match === null) return "";
  const names = match.names ?? [];
  const byName = names.length === 0 ? "" : new Selector(labelInSet(Op.in, SERVICE_ACCOUNT_LABEL, names)).text;
  if (isBlank(match.selector)) return byName;
  const byLabel = profileSelector(match.selector as string, SERVICE_ACCOUNT_LABEL_PREFIX).text;
  return byName === "" ? byLabel : `(${byLabel}) && (${byName})`;
}

/**
 * The one positive selector of a side of a rule; "" for no condition.
 *
 * @param namespace The policy's own; "" for the global kinds.
 * @param isUnscoped Not held to `namespace`, though it names no other.
 */
export function entitySelector(side: EntityRule, namespace: string, isUnscoped: boolean): string {
  const namesNamespaces = !isBlank(side.namespaceSelector);
  let where = "";
  if (namesNamespaces) where = ruleNamespaceSelector(side.namespaceSelector as string);
  else if (namespace !== "" && !isUnscoped) where = namespaceTerm(namespace);
  const accounts = serviceAccountSelector(side.serviceAccounts);
  const own = isBlank(side.selector) ? "" : (side.selector as string);
  const parts = accounts === "" || own === "" ? accounts + own : `(${accounts}) && (${own})`;
  if (where !== "" && (parts !== "" || !isBlank(side.notSelector) || namesNamespaces))
    return parts === "" ? where : `(${where}) && (${parts})`;
  return parts;
}
