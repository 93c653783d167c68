import { BUILT_IN_TIERS, CALICO_V3, kindFacts, type Resource } from "@bulrush/model";
import { DEFAULT_ALLOW_PROFILE } from "../kubernetes/profile.ts";
import { identityOf } from "./merge.ts";

/**
 * What a datastore has without anybody writing it, as far as `present` does not have it already: the three tiers, the
 * allow profile, ClusterInformation (ready), and the namespace `default` where something is in it.
 */
export function builtInResources(present: Iterable<Resource>): readonly Resource[] {
  const known = new Set<string>();
  let usesDefaultNamespace = false;
  for (const resource of present) {
    known.add(identityOf(resource));
    const isNamespaced = kindFacts(resource.apiVersion, resource.kind)?.namespaced === true;
    if (isNamespaced && resource.metadata.namespace === "default") usesDefaultNamespace = true;
  }
  const all: Resource[] = Object.entries(BUILT_IN_TIERS).map(([name, spec]) => ({
    apiVersion: CALICO_V3,
    kind: "Tier",
    metadata: { name },
    spec,
  }));
  all.push(DEFAULT_ALLOW_PROFILE, {
    apiVersion: CALICO_V3,
    kind: "ClusterInformation",
    metadata: { name: "default" },
    spec: { datastoreReady: true },
  });
  if (usesDefaultNamespace) {
    all.push({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "default", labels: { "kubernetes.io/metadata.name": "default" } },
    });
  }
  return all.filter((resource) => !known.has(identityOf(resource)));
}
