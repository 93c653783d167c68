import { isObject, type JsonObject, NAMESPACE_LABEL, NAMESPACE_LABEL_PREFIX, namespaceTerm } from "@bulrush/model";
import type { LintContext } from "../context.ts";
import { peerSelectors } from "../peer-selectors.ts";
import type { PolicyView } from "../policy-view.ts";
import type { Population } from "../population.ts";
import type { Warning } from "../warning.ts";
import { strayPolicies } from "./namespaces.ts";

/** Selectors that pick nothing that is there, and those that look at the wrong side. */
export function* selectorWarnings(context: LintContext): Iterable<Warning> {
  const { policies, population } = context;
  const wrongSides = policies.flatMap((policy) => [...ownSideWarnings(policy, population)]);
  yield* wrongSides;
  if (!population.hasEndpoints) return;
  // In a namespace that is not there nothing can be picked: that is said once.
  const stray = new Set(strayPolicies(context));
  for (const policy of policies) {
    if (stray.has(policy)) continue;
    const field = selectingField(policy);
    if (field !== undefined)
      yield* pickWarnings(policy, field, policy.v1.selector, "the policy is for nobody", false, population);
  }
  for (const { policy, field, selector } of peerSelectors(policies)) {
    if (stray.has(policy)) continue;
    if (wrongSides.some((warning) => warning.entry === policy.entry && field.startsWith(warning.field))) continue;
    yield* pickWarnings(policy, field, selector, "the rule matches nothing", true, population);
  }
}

function* pickWarnings(
  { entry, key }: PolicyView,
  field: string,
  selector: string,
  effect: string,
  withSets: boolean,
  population: Population,
): Iterable<Warning> {
  // Labels of namespaces that are not there are not known.
  if (!population.knowsNamespaces && selector.includes(NAMESPACE_LABEL_PREFIX)) return;
  const picked = population.pick(selector);
  if (picked === undefined) return;
  if ([...picked].some((member) => withSets || population.members[member]?.what !== "set")) return;
  if (population.pickHostNetwork(selector)) {
    const message = `It selects only pods on their host's network, which policy does not see: ${effect}`;
    yield { code: "selector-matches-host-network-only", entry, field, message };
  } else {
    const message = `It selects nothing that is here: ${effect}${elsewhere(selector, key.namespace, withSets, population)}`;
    yield { code: "selector-matches-nothing", entry, field, message };
  }
}

/** The namespaces that have what was looked for in the policy's own; "" where there are none. */
function elsewhere(selector: string, namespace: string, isPeer: boolean, population: Population): string {
  const term = namespaceTerm(namespace);
  if (namespace === "" || !selector.includes(term)) return "";
  const picked = population.pick(selector.replaceAll(term, `has(${NAMESPACE_LABEL})`)) ?? [];
  const found = new Set([...picked].flatMap((member) => population.members[member]?.labels.get(NAMESPACE_LABEL) ?? []));
  if (found.size === 0) return "";
  const names = [...found]
    .sort()
    .slice(0, MAX_NAMED)
    .map((name) => `"${name}"`)
    .join(", ");
  const more = found.size > MAX_NAMED ? ` and ${found.size - MAX_NAMED} more` : "";
  const rule = isPeer ? ", and a peer without a namespace selector of its own means the policy's namespace" : "";
  return `; what it looks for is in ${names}${more}${rule}`;
}

const MAX_NAMED = 3;

/** The field that narrows what a policy is for; undefined if it is for everything in its place. */
function selectingField({ spec, key, isCalico }: PolicyView): string | undefined {
  if (isCalico) {
    const name = ["selector", "namespaceSelector", "serviceAccountSelector"].find((one) => isSaid(spec[one]));
    return name === undefined ? undefined : `spec.${name}`;
  }
  if (key.kind === "KubernetesClusterNetworkPolicy") return "spec.subject";
  return isObject(spec["podSelector"]) && Object.keys(spec["podSelector"]).length > 0 ? "spec.podSelector" : undefined;
}

const SELECTING = ["selector", "namespaceSelector", "serviceAccounts"];
const ENTITY = [...SELECTING, "notSelector", "nets", "notNets", "ports", "notPorts", "services"];

/**
 * In an ingress rule `destination` is what the policy selects anyway. One that selects there, says nothing of the
 * source, and picks none of the policy's own endpoints was meant for the client.
 */
function* ownSideWarnings(policy: PolicyView, population: Population): Iterable<Warning> {
  if (!policy.isCalico) return;
  const mine = population.hasEndpoints ? population.pick(policy.v1.selector) : undefined;
  for (const { direction, rules } of policy.directions) {
    const [own, far] =
      direction === "ingress" ? (["destination", "source"] as const) : (["source", "destination"] as const);
    for (const { field, written, v1 } of rules) {
      const name = SELECTING.find((one) => isSaid(sideOf(written, own)[one]));
      if (name === undefined || ENTITY.some((one) => isSaid(sideOf(written, far)[one]))) continue;
      const selector = (direction === "ingress" ? v1[0]?.dst_selector : v1[0]?.src_selector) ?? "";
      const picked = population.pick(selector);
      if (mine !== undefined && picked !== undefined && [...mine].some((member) => picked.has(member))) continue;
      const whose = direction === "ingress" ? "who connects" : "where the connection goes";
      const message = `In an ${direction} rule ${own} is the policy's own side, and nothing is said of ${whose}; ${far}.${name} is meant`;
      yield { code: "selector-on-own-side", entry: policy.entry, field: `${field}.${own}.${name}`, message };
    }
  }
}

function sideOf(rule: JsonObject, side: string): JsonObject {
  const entity = rule[side];
  return isObject(entity) ? entity : {};
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}
