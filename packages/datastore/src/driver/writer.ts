import type { Resource } from "@bulrush/model";
import type { SourcePosition } from "../problem.ts";

/** The kind of what is written, as its author writes it: a Calico `NetworkPolicy` is not a Kubernetes one. */
export interface ResourceType {
  /** `projectcalico.org/v3` for Calico's kinds (never the name of their CRD group), else the group and version. */
  readonly apiVersion: string;
  readonly kind: string;
}

/** Names one stored resource. `namespace` is "" for the kinds without one. */
export interface ResourceId extends ResourceType {
  readonly namespace: string;
  readonly name: string;
}

/** A resource as it is stored, and the revision that a write of it must name to be sure that nothing came between. */
export interface StoredResource {
  /**
   * The v3 (or Kubernetes) shape, all of it. `metadata.resourceVersion` is {@link revision}, and `uid` and
   * `creationTimestamp` are there where the store has them.
   */
  readonly resource: Resource;
  /** Opaque; changes with every write. */
  readonly revision: string;
  /** Where it stands, if the store has such places. */
  readonly source?: SourcePosition;
}

/** Which kind, and where. */
export interface StoredListRequest extends ResourceType {
  /** Only this namespace. Default: all. */
  readonly namespace?: string;
  /**
   * Hears of all that may be of this kind, is stored, and is left out as it cannot be read: where it stands and why, in
   * one line. Called before the list ends; what is in no namespace that can be told counts for each.
   */
  readonly onUnreadable?: (what: string) => void;
}

/**
 * Writes resources, and reads them as a writer needs them: newest state, one answer a call, no cache.
 *
 * Errors are DatastoreErrors:
 *
 *     DATASTORE_ALREADY_EXISTS  create: it is there
 *     DATASTORE_CONFLICT        update, delete: the revision is not the newest one (or the uid is another's)
 *     DATASTORE_NOT_FOUND       update, delete: it is not there; any call: the server does not know the kind
 *     DATASTORE_NOT_SUPPORTED   this driver cannot write (or read) this kind
 *     DATASTORE_UNAUTHORIZED    401, 403, a read-only directory
 *     DATASTORE_INVALID         the server refuses the contents; the message names the field where it does
 *     DATASTORE_LOCKED          another process is writing and does not finish
 *     DATASTORE_CONNECTION_REFUSED, DATASTORE_TIMEOUT, DATASTORE_TOO_MANY_REQUESTS, DATASTORE_FAILED: as in a driver
 *
 * The writer: one write is all or nothing, and durable when its promise resolves; `metadata.resourceVersion` of what it
 * is given counts for nothing (the argument does); it sets what a client of the store sets
 * (see `withWriteDefaults`), where others read the store; it does not validate, and does not retry a lost race.
 * The caller: validates first, retries ({@link applyResource}), closes the writer after its last call.
 */
export interface DatastoreWriter {
  readonly type: "file" | "kubernetes" | "etcdv3";
  /** Undefined if it is not there. */
  get(id: ResourceId, signal: AbortSignal): Promise<StoredResource | undefined>;
  /** Pages of what is stored of a kind, in order of namespace and name. What cannot be read is left out, and told. */
  list(request: StoredListRequest, signal: AbortSignal): AsyncIterable<readonly StoredResource[]>;
  /** Stores what was not there. Resolves with what is stored now. */
  create(resource: Resource, signal: AbortSignal): Promise<StoredResource>;
  /**
   * Replaces what is stored, all of it except for `uid` and `creationTimestamp`, if `revision` is still the newest.
   * Resolves with what is stored now.
   */
  update(resource: Resource, revision: string, signal: AbortSignal): Promise<StoredResource>;
  /** Removes it; with a revision only if that is still the newest. */
  delete(id: ResourceId, revision: string | undefined, signal: AbortSignal): Promise<void>;
  /**
   * Only where a store can hold data of a Calico before version 3: the version that this data says (the GlobalConfig
   * `CalicoVersion`), or undefined if there is none.
   */
  legacyVersion?(signal: AbortSignal): Promise<string | undefined>;
  /** After the last call. Ends connections. */
  close(): Promise<void>;
}
