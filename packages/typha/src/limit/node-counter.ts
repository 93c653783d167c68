import type { SyncerCallbacks, Update } from "@bulrush/model";

/**
 * Counts the nodes that pass by on their way into the felix stream.
 *
 * Invariant: `#names` are the nodes that were sent and not deleted since.
 */
export class NodeCounter {
  readonly #names = new Set<string>();
  #isComplete = false;

  /** undefined until all nodes were known once. After that the last number that is known. */
  get count(): number | undefined {
    return this.#isComplete ? this.#names.size : undefined;
  }

  /** Callbacks that count and then go on to `next`. */
  before(next: SyncerCallbacks): SyncerCallbacks {
    return {
      onUpdates: (updates) => {
        for (const update of updates) this.#count(update);
        return next.onUpdates(updates);
      },
      onStatusUpdated: (status) => {
        if (status === "in-sync") this.#isComplete = true;
        return next.onStatusUpdated(status);
      },
    };
  }

  #count({ key, type, value }: Update): void {
    if (key.type !== "Resource" || key.kind !== "Node") return;
    // A node that cannot be read is a node all the same: its agent connects.
    if (type === "deleted" || (type === "unknown" && value === undefined)) this.#names.delete(key.name);
    else this.#names.add(key.name);
  }
}
