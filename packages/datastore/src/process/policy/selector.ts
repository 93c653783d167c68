import { RecentCache } from "@bulrush/base";
import {
  type EntityRule,
  NAMESPACE_LABEL,
  NAMESPACE_LABEL_PREFIX,
  namespaceTerm,
  SERVICE_ACCOUNT_LABEL,
  SERVICE_ACCOUNT_LABEL_PREFIX,
} from "@bulrush/model";
import {
  hasLabel,
  labelInSet,
  mapSelector,
  notNode,
  Op,
  prefixLabels,
  readSelector,
  Selector,
  type SelectorNode,
} from "@bulrush/selector";

/** `all()` and `global()` replaced in the tree, where a text search would also hit values and other selectors. */
function replaceConstants(selector: Selector, all: SelectorNode, global?: SelectorNode): Selector {
  return mapSelector(selector, (node) => (node.op === Op.all ? all : node.op === Op.global ? (global ?? node) : node));
}

/** A selector over the labels that an endpoint has from a profile. Throws on text that cannot be read. */
function profileSelector(text: string, prefix: string): Selector {
  const result = readSelector(text);
  if (!result.ok) throw result.error;
  return prefixLabels(result.selector, prefix);
}

function isBlank(text: string | undefined | null): boolean {
  return text === undefined || text === null || text.trim() === "";
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

/** Longer texts are read each time, so that what is remembered stays small. */
const MAX_REMEMBERED_LENGTH = 512;

const IN_NAMESPACE = hasLabel(NAMESPACE_LABEL);
const IN_NO_NAMESPACE = notNode(IN_NAMESPACE);

/** Many policies let in the same few namespaces. */
const namespaceSelectors = new RecentCache<string>(1024);

/** A namespace selector of a rule, over the labels that the graph knows. */
function ruleNamespaceSelector(text: string): string {
  const known = namespaceSelectors.get(text);
  if (known !== undefined) return known;
  const selector = profileSelector(text, NAMESPACE_LABEL_PREFIX);
  const translated = replaceConstants(selector, IN_NAMESPACE, IN_NO_NAMESPACE).text;
  if (text.length <= MAX_REMEMBERED_LENGTH) namespaceSelectors.set(text, translated);
  return translated;
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
