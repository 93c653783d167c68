import type { SyncStatus, Update } from "@bulrush/model";

/** What watcher caches put into the one queue; order within a cache is kept. */
export type Result =
  | { readonly type: "updates"; readonly updates: readonly Update[] }
  | { readonly type: "status"; readonly cache: number; readonly status: SyncStatus }
  /** The cache has stopped and sends nothing more. */
  | { readonly type: "end" };

/** Results waiting for the aggregator; a full queue holds up the caches. */
export const RESULTS_QUEUE_CAPACITY = 2000;
/** Results of one batch beyond the first. */
export const MAX_CONSOLIDATED_RESULTS = 1000;
