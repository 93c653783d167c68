import { withCanonicalWords } from "@bulrush/datastore";
import { CALICO_V3, type Resource } from "@bulrush/model";
import { isCalicoKind, policyKeyOf } from "./policy-kinds.ts";

/**
 * A resource as the syncer reads it: the actions and types of Calico's policies and profiles count in any case. The same
 * object where nothing is written otherwise than Calico's API has it.
 */
export function asClear(resource: Resource): Resource {
  const { apiVersion, kind } = resource;
  const policy = policyKeyOf(resource);
  const hasWords = policy === undefined ? apiVersion === CALICO_V3 && kind === "Profile" : isCalicoKind(policy.kind);
  if (!hasWords || resource.spec === undefined) return resource;
  const spec = withCanonicalWords(resource.spec);
  return spec === resource.spec ? resource : { ...resource, spec };
}
