import { type ManifestResource, resourceIdOf } from "@bulrush/datastore";
import { CALICO_V3, isObject, type JsonObject, type Resource } from "@bulrush/model";
import type { WorldChange } from "./world-change.ts";

/** What each staged kind becomes. */
const ENFORCED: Readonly<Record<string, Pick<Resource, "apiVersion" | "kind">>> = {
  StagedNetworkPolicy: { apiVersion: CALICO_V3, kind: "NetworkPolicy" },
  StagedGlobalNetworkPolicy: { apiVersion: CALICO_V3, kind: "GlobalNetworkPolicy" },
  StagedKubernetesNetworkPolicy: { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" },
};

/**
 * The change that enforces the staged policies among the resources: each takes the place of the policy of its name, or
 * takes it away where its `stagedAction` is Delete. Of two of one name the later counts.
 */
export function enforceStaged(resources: readonly ManifestResource[]): WorldChange {
  const staged = new Map<string, ManifestResource>();
  for (const entry of resources) {
    const { apiVersion, kind } = entry.resource;
    if (apiVersion === CALICO_V3 && Object.hasOwn(ENFORCED, kind))
      staged.set(JSON.stringify(resourceIdOf(entry.resource)), entry);
  }
  const apply: ManifestResource[] = [];
  const remove: ManifestResource[] = [];
  for (const entry of staged.values()) {
    const { resource, source } = entry;
    const { stagedAction, ...spec }: JsonObject = isObject(resource.spec) ? resource.spec : {};
    const enforced = { resource: { ...resource, ...ENFORCED[resource.kind], spec }, source };
    remove.push(entry);
    (stagedAction === "Delete" ? remove : apply).push(enforced);
  }
  return { apply, remove };
}
