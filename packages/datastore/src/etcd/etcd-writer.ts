import { randomUUID } from "node:crypto";
import { type Clock, compareStrings } from "@bulrush/base";
import { CALICO_V3, kindFacts, type Resource } from "@bulrush/model";
import { resourceIdOf } from "../driver/apply.ts";
import type { DatastoreContext } from "../driver/context.ts";
import { DATASTORE_KINDS, type DatastoreKind } from "../driver/kind.ts";
import { hasNameOfUser } from "../driver/name-of-user.ts";
import { withWriteDefaults } from "../driver/write-defaults.ts";
import type { DatastoreWriter, ResourceId, ResourceType, StoredListRequest, StoredResource } from "../driver/writer.ts";
import { DatastoreError, type DatastoreErrorCode } from "../errors.ts";
import { EtcdClient } from "./client/etcd-client.ts";
import {
  type Compare,
  COMPARE_EQUAL,
  COMPARE_GREATER,
  type KeyValue,
  type RequestOp,
  TARGET_MOD,
  TARGET_VERSION,
} from "./client/messages.ts";
import { LEASE_GRANT, RANGE, TXN } from "./client/methods.ts";
import { checkedEtcdConfig, type EtcdDatastoreConfig } from "./etcd-config.ts";
import { type KeyRange, keyOf, LEGACY_VERSION_KEY, rangeOf } from "./key-layout.ts";
import { rangePages } from "./range-pages.ts";
import { readStored, whyUnreadable } from "./read-item.ts";
import { writeValue } from "./write-value.ts";

const PAGE_ITEMS = 500;

export interface EtcdWriteOptions {
  /** The entry goes away by itself after so many seconds, or some more. Default: it stays. */
  readonly ttlSeconds?: number;
}

const KINDS: ReadonlySet<string> = new Set(DATASTORE_KINDS);

/** Writes Calico's keys in etcd. One write is one transaction, which compares the revision and puts or deletes. */
export class EtcdWriter implements DatastoreWriter {
  readonly type = "etcdv3";
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #config: EtcdDatastoreConfig;

  /** @throws DatastoreError DATASTORE_BAD_CONFIG. Nothing is asked for yet. */
  constructor(config: EtcdDatastoreConfig, { clock, logger, random = Math.random }: DatastoreContext) {
    this.#config = checkedEtcdConfig(config);
    this.#clock = clock;
    this.#client = new EtcdClient({ config, clock, logger, start: random() });
  }

  async get(id: ResourceId, signal: AbortSignal): Promise<StoredResource | undefined> {
    const kind = kindOf(id);
    const entry = await this.#find(kind, id, signal);
    if (entry === undefined) return undefined;
    const stored = storedOf(kind, entry);
    if (stored !== undefined) return stored;
    throw errorFor(id, "DATASTORE_MALFORMED", "what is stored cannot be read; delete it first");
  }

  async *list(request: StoredListRequest, signal: AbortSignal): AsyncGenerator<readonly StoredResource[], void, void> {
    const kind = kindOf(request);
    const { namespace } = request;
    const range = rangeOf(kind, namespace === undefined ? {} : { namespace });
    if (range === undefined) throw notSupported(request);
    const all: StoredResource[] = [];
    for await (const { entries } of rangePages(this.#client, range, { signal, pageItems: this.#config.pageItems })) {
      for (const entry of entries) {
        const stored = storedOf(kind, entry);
        if (stored !== undefined) all.push(stored);
        else request.onUnreadable?.(whyUnreadable(kind, entry));
      }
    }
    // The order of keys is another one: "a-b/x" is before "a/x".
    all.sort(compareStored);
    for (let i = 0; i === 0 || i < all.length; i += PAGE_ITEMS) yield all.slice(i, i + PAGE_ITEMS);
  }

  async create(resource: Resource, signal: AbortSignal, options: EtcdWriteOptions = {}): Promise<StoredResource> {
    const id = resourceIdOf(resource);
    const kind = kindOf(id);
    const key = mustKeyOf(kind, id, resource);
    const there = (): DatastoreError => errorFor(id, "DATASTORE_ALREADY_EXISTS", "it is there already");
    if (hasNameOfUser(kind) && (await this.#find(kind, id, signal)) !== undefined) throw there();
    const creationTimestamp = new Date(this.#clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
    const value = valueOf(kind, resource, { uid: randomUUID(), creationTimestamp });
    const lease = await this.#lease(options, signal);
    const isAbsent = { result: COMPARE_EQUAL, target: TARGET_VERSION, key, version: 0 };
    const revision = await this.#write(isAbsent, { request_put: { key, value, lease } }, signal);
    if (revision === undefined) throw there();
    return mustStored(id, kind, { key, value, create_revision: revision, mod_revision: revision });
  }

  async update(
    resource: Resource,
    revision: string,
    signal: AbortSignal,
    options: EtcdWriteOptions = {},
  ): Promise<StoredResource> {
    const id = resourceIdOf(resource);
    const kind = kindOf(id);
    const known = await this.#find(kind, id, signal);
    const isCurrent = compareRevision(id, known, revision);
    const { key, create_revision } = isCurrent.entry;
    const replaced = readStored(kind, isCurrent.entry);
    const { uid, creationTimestamp } = replaced?.metadata ?? {};
    // Who writes a status is not who writes the rest.
    const status = resource.status ?? replaced?.status;
    const whole = status === undefined ? resource : { ...resource, status };
    const value = valueOf(kind, whole, { uid, creationTimestamp });
    const lease = await this.#lease(options, signal);
    const written = await this.#write(isCurrent.compare, { request_put: { key, value, lease } }, signal);
    if (written === undefined) throw await this.#lost(kind, id, signal);
    return mustStored(id, kind, { key, value, create_revision, mod_revision: written });
  }

  async delete(id: ResourceId, revision: string | undefined, signal: AbortSignal): Promise<void> {
    const kind = kindOf(id);
    const known = await this.#find(kind, id, signal);
    const { entry, compare } = compareRevision(id, known, revision);
    if ((await this.#write(compare, { request_delete_range: { key: entry.key } }, signal)) === undefined)
      throw await this.#lost(kind, id, signal);
  }

  async legacyVersion(signal: AbortSignal): Promise<string | undefined> {
    const [entry] = await this.#entries({ key: LEGACY_VERSION_KEY, end: undefined }, signal);
    return entry?.value.toString("utf8");
  }

  close(): Promise<void> {
    this.#client.close();
    return Promise.resolve();
  }

  /** The entry of a name: a policy's may have a prefix, an affinity's is only in its key. */
  async #find(
    kind: DatastoreKind,
    { namespace, name }: ResourceId,
    signal: AbortSignal,
  ): Promise<KeyValue | undefined> {
    const isMeant = (entry: KeyValue): boolean => {
      const found = readStored(kind, entry);
      // What cannot be read goes by its key.
      return found === undefined || found.metadata.name === name;
    };
    const names = hasNameOfUser(kind) ? [name, `default.${name}`] : [name];
    for (const one of names) {
      const range = rangeOf(kind, { namespace, name: one });
      if (range === undefined) return undefined;
      const entries = await this.#entries(range, signal);
      const found = entries.find((entry) => isMeant(entry));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #entries(range: KeyRange, signal: AbortSignal): Promise<readonly KeyValue[]> {
    if (range.end === undefined) return (await this.#client.call(RANGE, { key: Buffer.from(range.key) }, signal)).kvs;
    const all: KeyValue[] = [];
    for await (const { entries } of rangePages(this.#client, range, { signal, pageItems: this.#config.pageItems }))
      all.push(...entries);
    return all;
  }

  async #lease({ ttlSeconds }: EtcdWriteOptions, signal: AbortSignal): Promise<bigint | undefined> {
    if (ttlSeconds === undefined) return undefined;
    const { ID, error } = await this.#client.call(LEASE_GRANT, { TTL: Math.ceil(ttlSeconds) }, signal);
    if (error === "") return ID;
    throw new DatastoreError(`Get a lease: ${error}`, { code: "DATASTORE_FAILED", op: "Get a lease" });
  }

  /** The revision of the write; undefined if the comparison failed. */
  async #write(compare: Compare, request: RequestOp, signal: AbortSignal): Promise<number | undefined> {
    const txn = { compare: [compare], success: [request], failure: [] };
    const { succeeded, header } = await this.#client.call(TXN, txn, signal);
    return succeeded ? (header?.revision ?? 0) : undefined;
  }

  /** Somebody came between: to change it, or to delete it. */
  async #lost(kind: DatastoreKind, id: ResourceId, signal: AbortSignal): Promise<DatastoreError> {
    const known = await this.#find(kind, id, signal);
    return known === undefined
      ? errorFor(id, "DATASTORE_NOT_FOUND", "it is not there any more")
      : errorFor(id, "DATASTORE_CONFLICT", `it is at revision ${known.mod_revision} by now`);
  }
}

function kindOf(type: ResourceType): DatastoreKind {
  const kind = type.kind === "IPAMConfiguration" ? "IPAMConfig" : type.kind;
  if (type.apiVersion === CALICO_V3 && KINDS.has(kind) && kindFacts(CALICO_V3, kind) !== undefined)
    return kind as DatastoreKind;
  throw notSupported(type);
}

function notSupported({ apiVersion, kind }: ResourceType): DatastoreError {
  return new DatastoreError(`etcd has no ${kind} of ${apiVersion}`, {
    code: "DATASTORE_NOT_SUPPORTED",
    data: { kind },
  });
}

function errorFor(id: ResourceId, code: DatastoreErrorCode, message: string): DatastoreError {
  const { kind, namespace, name } = id;
  const path = namespace === "" ? name : `${namespace}/${name}`;
  return new DatastoreError(`${kind} ${path}: ${message}`, { code, data: { ...id } });
}

function mustKeyOf(kind: DatastoreKind, id: ResourceId, resource: Resource): Buffer {
  const key = keyOf(kind, id, resource.spec);
  if (key !== undefined) return Buffer.from(key);
  throw errorFor(id, "DATASTORE_INVALID", "its name (or spec.node and spec.cidr) cannot be a key");
}

/** With these two fields of the metadata in place of the resource's own. */
function valueOf(
  kind: DatastoreKind,
  resource: Resource,
  own: { readonly uid: string | undefined; readonly creationTimestamp: string | undefined },
): Buffer {
  const filled = withWriteDefaults(resource);
  return writeValue(kind, { ...filled, metadata: { ...filled.metadata, ...own } as Resource["metadata"] });
}

/**
 * Holds while the entry is as it was read, and is the one that the caller means.
 *
 * @throws DatastoreError DATASTORE_NOT_FOUND, DATASTORE_CONFLICT.
 */
function compareRevision(
  id: ResourceId,
  entry: KeyValue | undefined,
  revision: string | undefined,
): { readonly entry: KeyValue; readonly compare: Compare } {
  if (entry === undefined) throw errorFor(id, "DATASTORE_NOT_FOUND", "it is not there");
  const { key, mod_revision } = entry;
  if (revision === undefined)
    return { entry, compare: { result: COMPARE_GREATER, target: TARGET_VERSION, key, version: 0 } };
  if (String(mod_revision) !== revision)
    throw errorFor(id, "DATASTORE_CONFLICT", `it is at revision ${mod_revision}, not ${revision}`);
  return { entry, compare: { result: COMPARE_EQUAL, target: TARGET_MOD, key, mod_revision } };
}

function storedOf(kind: DatastoreKind, entry: KeyValue): StoredResource | undefined {
  const resource = readStored(kind, entry);
  return resource && { resource, revision: String(entry.mod_revision) };
}

function mustStored(id: ResourceId, kind: DatastoreKind, entry: KeyValue): StoredResource {
  const stored = storedOf(kind, entry);
  if (stored !== undefined) return stored;
  throw errorFor(id, "DATASTORE_INVALID", "what was written cannot be read back");
}

function compareStored({ resource: a }: StoredResource, { resource: b }: StoredResource): number {
  return (
    compareStrings(a.metadata.namespace ?? "", b.metadata.namespace ?? "") ||
    compareStrings(a.metadata.name, b.metadata.name)
  );
}
