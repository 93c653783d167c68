import type { Resource } from "@bulrush/model";
import { resourceIdOf } from "../driver/apply.ts";
import type { DatastoreWriter, ResourceId, StoredResource } from "../driver/writer.ts";
import { DatastoreError, type DatastoreErrorCode } from "../errors.ts";

export interface MemoryWriterOptions {
  readonly type: DatastoreWriter["type"];
  /** Calls that fail, as in `calls`; each once. */
  readonly fails?: Readonly<Record<string, DatastoreErrorCode>>;
  /** After each of those. */
  readonly onFailure?: (writer: MemoryWriter) => void;
}

/** A datastore in memory, for tests: says which writes were asked for. */
export interface MemoryWriter extends DatastoreWriter {
  /** "create Tier default", in order. */
  readonly calls: string[];
  put(resource: Resource): StoredResource;
  /** The first of this kind and name, whatever its namespace. */
  find(kind: string, name: string): Resource | undefined;
}

export function memoryWriter({ type, fails = {}, onFailure }: MemoryWriterOptions): MemoryWriter {
  const stored = new Map<string, StoredResource>();
  const pending = new Map(Object.entries(fails));
  const calls: string[] = [];
  let revision = 0;
  const keyOf = ({ apiVersion, kind, namespace, name }: ResourceId): string =>
    `${apiVersion} ${kind} ${namespace}/${name}`;
  const call = async (verb: string, id: ResourceId): Promise<void> => {
    const text = `${verb} ${id.kind} ${id.namespace === "" ? "" : `${id.namespace}/`}${id.name}`;
    calls.push(text);
    const code = pending.get(text);
    pending.delete(text);
    if (code !== undefined) {
      onFailure?.(writer);
      throw new DatastoreError(`${text} fails`, { code });
    }
    await Promise.resolve();
  };
  // Between looking and writing nothing is awaited: of two writers one is refused.
  const need = (known: StoredResource | undefined, wanted: string | undefined): void => {
    if (known === undefined) throw new DatastoreError("Not there", { code: "DATASTORE_NOT_FOUND" });
    if (wanted !== undefined && wanted !== known.revision)
      throw new DatastoreError("Another revision", { code: "DATASTORE_CONFLICT" });
  };
  const writer: MemoryWriter = {
    type,
    calls,
    put(resource) {
      const resourceVersion = String(++revision);
      const metadata = { ...resource.metadata, resourceVersion };
      const entry = { resource: { ...resource, metadata }, revision: resourceVersion };
      stored.set(keyOf(resourceIdOf(resource)), entry);
      return entry;
    },
    find: (kind, name) =>
      [...stored.values()].find(({ resource }) => resource.kind === kind && resource.metadata.name === name)?.resource,
    get: (id) => Promise.resolve(stored.get(keyOf(id))),
    async *list({ apiVersion, kind, namespace }) {
      await Promise.resolve();
      yield [...stored.values()].filter(({ resource }) => {
        const id = resourceIdOf(resource);
        return id.apiVersion === apiVersion && id.kind === kind && (namespace ?? id.namespace) === id.namespace;
      });
    },
    async create(resource) {
      const id = resourceIdOf(resource);
      await call("create", id);
      if (stored.has(keyOf(id))) throw new DatastoreError("It is there", { code: "DATASTORE_ALREADY_EXISTS" });
      return writer.put(resource);
    },
    async update(resource, wanted) {
      const id = resourceIdOf(resource);
      await call("update", id);
      need(stored.get(keyOf(id)), wanted);
      return writer.put(resource);
    },
    async delete(id, wanted) {
      await call("delete", id);
      need(stored.get(keyOf(id)), wanted);
      stored.delete(keyOf(id));
    },
    close: () => Promise.resolve(),
  };
  return writer;
}
