import type { BoundedQueue } from "@bulrush/base";
import type { SyncerCallbacks, SyncStatus, Update } from "@bulrush/model";
import { MAX_CONSOLIDATED_RESULTS, type Result } from "./result.ts";

/**
 * The one consumer of the results queue: merges the statuses of the caches into one, and what has queued up into
 * batches. A status goes out after the updates before it. Waits for each callback.
 *
 *     cache 0 ──┐
 *     cache 1 ──┼─> results queue ─> [flush] onUpdates(batch) / onStatusUpdated(all in-sync: in-sync,
 *     cache n ──┘                                              all waiting: wait-for-ready, else resync)
 */
export class Aggregator {
  readonly #callbacks: SyncerCallbacks;
  readonly #queue: BoundedQueue<Result>;
  readonly #statuses: SyncStatus[];
  #running: number;
  #status: SyncStatus = "wait-for-ready";
  #pending: Update[] = [];

  constructor(caches: number, queue: BoundedQueue<Result>, callbacks: SyncerCallbacks) {
    this.#callbacks = callbacks;
    this.#queue = queue;
    this.#statuses = Array.from({ length: caches }, () => "wait-for-ready");
    this.#running = caches;
  }

  get status(): SyncStatus {
    return this.#status;
  }

  /** Resolves when every cache has ended and its last result was handed over. Rejects if a callback does. */
  async run(): Promise<void> {
    await this.#callbacks.onStatusUpdated(this.#status);
    while (this.#running > 0) {
      await this.#queue.whenItem();
      for (let taken = 0; taken <= MAX_CONSOLIDATED_RESULTS; taken++) {
        const result = this.#queue.shift();
        if (result === undefined) break;
        await this.#take(result);
      }
      await this.#flush();
    }
  }

  async #take(result: Result): Promise<void> {
    switch (result.type) {
      case "updates":
        for (const update of result.updates) this.#pending.push(update);
        return;
      case "status": {
        this.#statuses[result.cache] = result.status;
        const status = combine(this.#statuses);
        if (status === this.#status) return;
        await this.#flush();
        this.#status = status;
        await this.#callbacks.onStatusUpdated(status);
        return;
      }
      case "end":
        this.#running--;
    }
  }

  async #flush(): Promise<void> {
    if (this.#pending.length === 0) return;
    const batch = this.#pending;
    this.#pending = [];
    await this.#callbacks.onUpdates(batch);
  }
}

function combine(statuses: readonly SyncStatus[]): SyncStatus {
  if (statuses.every((status) => status === "in-sync")) return "in-sync";
  return statuses.every((status) => status === "wait-for-ready") ? "wait-for-ready" : "resync";
}
