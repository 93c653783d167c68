import { withCanonicalWords } from "@bulrush/datastore";
import { CALICO_V3, type Resource } from "@bulrush/model";

const KINDS: ReadonlySet<string> = new Set([
  "NetworkPolicy",
  "GlobalNetworkPolicy",
  "StagedNetworkPolicy",
  "StagedGlobalNetworkPolicy",
  "Profile",
]);

/**
 * A resource as the syncer reads it: the actions and types of Calico's policies and profiles count in any case. The same
 * object where nothing is written otherwise than Calico's API has it.
 */
export function asClear(resource: Resource): Resource {
  if (resource.apiVersion !== CALICO_V3 || !KINDS.has(resource.kind) || resource.spec === undefined) return resource;
  const spec = withCanonicalWords(resource.spec);
  return spec === resource.spec ? resource : { ...resource, spec };
}
