import { kindFacts, type Resource, sameValue } from "@bulrush/model";
import { datastoreCodeOf } from "../errors.ts";
import type { DatastoreWriter, ResourceId, StoredResource } from "./writer.ts";
import { withWriteDefaults } from "./write-defaults.ts";

/** What {@link applyResource} did. "configured": something else was there before. */
export interface Applied {
  readonly action: "created" | "configured" | "unchanged";
  readonly stored: StoredResource;
}

/** Tries of one apply while others write the same resource. */
const MAX_ATTEMPTS = 10;

/** The id of a resource: the group and version that we read; the namespace `default` where one is needed and not said. */
export function resourceIdOf({ apiVersion, kind, metadata }: Resource): ResourceId {
  const facts = kindFacts(apiVersion, kind);
  const namespace = facts?.namespaced === true ? (metadata.namespace ?? "") || "default" : "";
  return { apiVersion: facts?.apiVersion ?? apiVersion, kind, namespace, name: metadata.name };
}

/**
 * Makes the store hold `resource`: creates it, or replaces what is there, or does nothing where that means the same
 * already. A lost race is tried again on the newest state, unless `metadata.resourceVersion` says which state was
 * meant to be replaced.
 *
 * @throws DatastoreError as {@link DatastoreWriter}; DATASTORE_CONFLICT if the revision named is not the newest, or
 * after ten lost races.
 */
export async function applyResource(
  writer: DatastoreWriter,
  resource: Resource,
  signal: AbortSignal,
): Promise<Applied> {
  const { resourceVersion = "" } = resource.metadata;
  if (resourceVersion !== "")
    return { action: "configured", stored: await writer.update(resource, resourceVersion, signal) };
  const id = resourceIdOf(resource);
  for (let attempt = 1; ; attempt++) {
    try {
      const known = await writer.get(id, signal);
      if (known === undefined) return { action: "created", stored: await writer.create(resource, signal) };
      if (saysTheSame(known.resource, resource)) return { action: "unchanged", stored: known };
      return { action: "configured", stored: await writer.update(resource, known.revision, signal) };
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isLostRace(error)) throw error;
    }
  }
}

function isLostRace(error: unknown): boolean {
  const code = datastoreCodeOf(error);
  return code === "DATASTORE_CONFLICT" || code === "DATASTORE_ALREADY_EXISTS" || code === "DATASTORE_NOT_FOUND";
}

/** True if writing `wanted` over `stored` would change nothing: the fields that the store sets aside. */
export function saysTheSame(stored: Resource, wanted: Resource): boolean {
  return sameValue(comparable(stored), comparable(wanted));
}

function comparable(resource: Resource): unknown {
  const { metadata, ...rest } = withWriteDefaults(resource);
  const { name, namespace = "", labels = {}, annotations = {} } = metadata;
  const { apiVersion, kind } = resourceIdOf(resource);
  // One thing with two names: that of the v3 group, and that of the others.
  const known = kind === "IPAMConfiguration" ? "IPAMConfig" : kind;
  return { ...rest, apiVersion, kind: known, status: undefined, metadata: { name, namespace, labels, annotations } };
}
