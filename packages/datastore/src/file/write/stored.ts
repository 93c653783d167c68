import { hash } from "node:crypto";
import { type JsonObject, kindFacts, type Resource, type ResourceMetadata } from "@bulrush/model";
import type { ResourceId, ResourceType, StoredResource } from "../../driver/writer.ts";
import { DatastoreError, type DatastoreErrorCode } from "../../errors.ts";
import type { ManifestResource } from "../../manifest/resource.ts";

/** The revision of what is there without anybody having written it. */
const BUILT_IN_REVISION = "built-in";

/** A resource of a file, with a revision made from its contents. */
export function storedOf({ resource, source }: ManifestResource): StoredResource {
  const { resourceVersion: _, ...metadata } = resource.metadata;
  const revision = hash("sha256", JSON.stringify({ ...resource, metadata }), "base64url").slice(0, 16);
  return { resource: { ...resource, metadata: { ...metadata, resourceVersion: revision } }, revision, source };
}

export function builtInStored(resource: Resource): StoredResource {
  const metadata = { ...resource.metadata, resourceVersion: BUILT_IN_REVISION };
  return { resource: { ...resource, metadata }, revision: BUILT_IN_REVISION };
}

/**
 * What goes into the file: without what a server counts (a manifest that somebody applies elsewhere must not carry it),
 * with what the one that is replaced had and the new one does not say.
 */
export function writable(resource: Resource, replaced: Resource | undefined): Resource {
  const {
    resourceVersion: _version,
    generation: _generation,
    managedFields: _fields,
    ...own
  } = resource.metadata as ResourceMetadata & { readonly managedFields?: unknown };
  const { uid, creationTimestamp } = replaced?.metadata ?? {};
  const { status } = (replaced ?? {}) as JsonObject;
  const metadata = {
    ...own,
    ...(uid !== undefined && { uid }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
  const { apiVersion, kind, metadata: _metadata, ...rest } = resource;
  return { apiVersion, kind, metadata, ...(status !== undefined && { status }), ...rest } as Resource;
}

/** @throws DatastoreError DATASTORE_NOT_SUPPORTED for a kind that the directory does not have. */
export function checkKind(type: ResourceType): void {
  if (kindFacts(type.apiVersion, type.kind)?.apiVersion === type.apiVersion) return;
  const message = `The directory has no kind "${type.kind}" of ${type.apiVersion}`;
  throw new DatastoreError(message, { code: "DATASTORE_NOT_SUPPORTED", data: { ...type } });
}

/** @throws DatastoreError DATASTORE_CONFLICT if the revision is not that of `known`. */
export function checkRevision(id: ResourceId, known: StoredResource, revision: string): void {
  if (known.revision === revision) return;
  const message = `${nameOf(id)} has revision ${known.revision}, not ${revision}: somebody changed it`;
  throw errorFor(id, "DATASTORE_CONFLICT", message);
}

/** "NetworkPolicy shop/web". */
export function nameOf({ kind, namespace, name }: ResourceId): string {
  return `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

export function errorFor(id: ResourceId, code: DatastoreErrorCode, message: string): DatastoreError {
  return new DatastoreError(message, { code, op: "Write manifests", data: { ...id } });
}
