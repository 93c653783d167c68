import type { Key } from "./key.ts";
import type { Value } from "./value.ts";

/** What the source believes the change to be; see {@link Update}. */
export type UpdateType = "unknown" | "new" | "updated" | "deleted";

/**
 * One change of one key. `value` undefined means that the key does not exist (deleted, or not valid): consumers
 * trust the value, never the update type.
 */
export interface Update {
  readonly key: Key;
  /** `formatKey(key)`, kept because everybody needs it. */
  readonly path: string;
  readonly value: Value | undefined;
  /** Of the datastore, opaque. */
  readonly revision: string;
  readonly type: UpdateType;
}

/** Where a syncer stands. A status may move backwards. */
export type SyncStatus = "wait-for-ready" | "resync" | "in-sync";

/**
 * What every source of KVs calls: a syncer, a sync client, a decoder of NDJSON.
 *
 * Order: calls come one at a time, in the order of the source; a status comes after all the KVs before it. No KV
 * comes while the status is wait-for-ready. A returned promise is back-pressure: the source waits for it before the
 * next call.
 */
export interface SyncerCallbacks {
  onStatusUpdated(status: SyncStatus): void | Promise<void>;
  /** The list and its values are shared: nobody changes them. */
  onUpdates(updates: readonly Update[]): void | Promise<void>;
}
