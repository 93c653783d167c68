import { nearestName } from "@bulrush/base";
import type { LintContext } from "../context.ts";
import type { PolicyView } from "../policy-view.ts";
import type { Warning } from "../warning.ts";

/** Every cluster has them, though no manifest says so. */
const EVERYWHERE: readonly string[] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Policies in namespaces that are not there. */
export function* namespaceWarnings(context: LintContext): Iterable<Warning> {
  const known = knownNamespaces(context);
  for (const { entry, key } of strayPolicies(context)) {
    const near = nearestName(key.namespace, known);
    const hint = near === undefined ? "" : `; is "${near}" meant?`;
    const message = `There is no namespace "${key.namespace}" here: the policy is for nobody${hint}`;
    yield { code: "missing-namespace", entry, field: "metadata.namespace", message };
  }
}

/** The policies whose namespace is not there; none where the manifests have no namespaces, or no pods. */
export function strayPolicies(context: LintContext): readonly PolicyView[] {
  const { policies, population, resources } = context;
  if (!population.hasEndpoints || !resources.some(({ resource }) => resource.kind === "Namespace")) return [];
  const known = knownNamespaces(context);
  return policies.filter(({ key }) => key.namespace !== "" && !known.has(key.namespace));
}

/** What is named by a Namespace, or holds something other than policy. */
function knownNamespaces({ resources, policies }: LintContext): ReadonlySet<string> {
  const known = new Set(EVERYWHERE);
  const own = new Set(policies.map(({ entry }) => entry));
  for (const entry of resources) {
    const { kind, metadata } = entry.resource;
    if (kind === "Namespace") known.add(metadata.name);
    else if (metadata.namespace !== undefined && !own.has(entry)) known.add(metadata.namespace);
  }
  return known;
}
