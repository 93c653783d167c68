import { CALICO_V3, type JsonObject, type Resource } from "@bulrush/model";
import type { DatastoreKind } from "../driver/kind.ts";
import { hasNameOfUser, METADATA_ANNOTATION } from "../driver/name-of-user.ts";
import { isIpamKind, writeIpamValue } from "./ipam-spec.ts";

/** The value that a resource is stored as: what `readItem` reads. The revision is the store's own and is left out. */
export function writeValue(kind: DatastoreKind, resource: Resource): Buffer {
  return Buffer.from(JSON.stringify(isIpamKind(kind) ? writeIpamValue(kind, resource.spec) : writeResource(resource)));
}

function writeResource(resource: Resource): unknown {
  const { resourceVersion: _, managedFields: __, ...metadata } = resource.metadata as Resource["metadata"] & JsonObject;
  const kept = hasNameOfUser(resource.kind)
    ? { annotations: { ...metadata.annotations, [METADATA_ANNOTATION]: JSON.stringify({ name: metadata.name }) } }
    : {};
  return { ...resource, apiVersion: CALICO_V3, metadata: { ...metadata, ...kept } };
}
