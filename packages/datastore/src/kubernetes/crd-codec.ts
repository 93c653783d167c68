import { CALICO_CRD_V1, CALICO_V3, isObject, type Resource, type ResourceMetadata } from "@bulrush/model";

const METADATA_ANNOTATION = "projectcalico.org/metadata";

const POLICY_KINDS: ReadonlySet<string> = new Set([
  "NetworkPolicy",
  "GlobalNetworkPolicy",
  "StagedNetworkPolicy",
  "StagedGlobalNetworkPolicy",
]);

/**
 * A resource as its user wrote it, from the form in which `crd.projectcalico.org/v1` stores it: the metadata of the
 * user is in an annotation, and a policy of the default tier may have gained a prefix. Others come back as they are, but
 * for the version.
 */
export function readCrd(resource: Resource): Resource {
  if (resource.apiVersion !== CALICO_CRD_V1) return resource;
  const stored = storedMetadata(resource.metadata.annotations?.[METADATA_ANNOTATION]);
  const { annotations = {}, labels = {} } = resource.metadata;
  const { [METADATA_ANNOTATION]: _, ...own } = annotations;
  const metadata: ResourceMetadata = {
    ...resource.metadata,
    name: nameOf(resource, stored.name),
    ...(stored.creationTimestamp !== undefined && { creationTimestamp: stored.creationTimestamp }),
    labels: { ...labels, ...stored.labels },
    annotations: { ...own, ...stored.annotations },
  };
  return { ...resource, apiVersion: CALICO_V3, metadata };
}

function nameOf({ kind, metadata, spec }: Resource, stored: string | undefined): string {
  if (!POLICY_KINDS.has(kind)) return metadata.name;
  if (stored !== undefined && stored !== "") return stored;
  const tier = isObject(spec) ? (spec["tier"] ?? "") : "";
  const isDefault = tier === "" || tier === "default";
  return isDefault && metadata.name.startsWith("default.") ? metadata.name.slice("default.".length) : metadata.name;
}

function storedMetadata(text: string | undefined): Partial<ResourceMetadata> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? (value as Partial<ResourceMetadata>) : {};
  } catch {
    return {};
  }
}
