import type { DatastoreConfig } from "./config.ts";
import type { DatastoreContext } from "./driver/context.ts";

/**
 * Where agents say how they and their endpoints are: keys beside the resources, each of one writer. Errors are those of a
 * DatastoreWriter.
 */
export interface StatusStore {
  /** Writes a key, whatever it says now. It goes away by itself after `ttlSeconds`, or some more. Default: it stays. */
  put(key: string, value: string, signal: AbortSignal, ttlSeconds?: number): Promise<void>;
  /** Also where it is not there. */
  delete(key: string, signal: AbortSignal): Promise<void>;
  /** Everything below a prefix, which ends in `/`. */
  list(prefix: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** After the last call. Keys with a time to live go when it is over. */
  close(): Promise<void>;
}

/**
 * Opens the statuses of a datastore; undefined for one that has no place for them (Kubernetes, a directory). It belongs to
 * the caller, who closes it.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG.
 */
export async function openStatusStore(
  config: DatastoreConfig,
  context: DatastoreContext,
): Promise<StatusStore | undefined> {
  if (config.type !== "etcdv3") return undefined;
  // Only who uses it pays for the library.
  const { EtcdStatusStore } = await import("./etcd/status-store.ts");
  return new EtcdStatusStore(config, context);
}
