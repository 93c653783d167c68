import { policyIdText } from "@bulrush/calc";
import { isObject, type Resource } from "@bulrush/model";

/** The kind in the graph of what each staged kind deletes. */
const DELETES: Readonly<Record<string, string>> = {
  StagedNetworkPolicy: "NetworkPolicy",
  StagedGlobalNetworkPolicy: "GlobalNetworkPolicy",
  StagedKubernetesNetworkPolicy: "KubernetesNetworkPolicy",
};

/**
 * Ids, as explanations name them, of the policies that staged ones with `stagedAction: Delete` take away once they are
 * enforced. They are no part of what the syncer sends.
 */
export function deletedByStaged(resources: readonly Resource[]): ReadonlySet<string> {
  const out = new Set<string>();
  for (const { kind, metadata, spec } of resources) {
    const deletes = Object.hasOwn(DELETES, kind) ? DELETES[kind] : undefined;
    if (deletes === undefined || !isObject(spec) || spec["stagedAction"] !== "Delete") continue;
    out.add(policyIdText({ kind: deletes, namespace: metadata.namespace ?? "", name: metadata.name }));
  }
  return out;
}
