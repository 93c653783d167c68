import { compareStrings } from "@bulrush/base";

/**
 * Updates and removes of one kind of object that wait for a flush, collapsed: the last update wins, an object that was
 * never sent is not removed, one that comes back is only updated. They leave in order of id, so that one state gives
 * one sequence of messages.
 *
 * Invariant: no id is in both `#updates` and `#removes`; every id in `#removes` was sent.
 */
export class PendingTable<U, R> {
  readonly #updates = new Map<string, U>();
  readonly #removes = new Map<string, R>();
  readonly #sent = new Set<string>();

  update(id: string, message: U): void {
    this.#removes.delete(id);
    this.#updates.set(id, message);
  }

  remove(id: string, message: R): void {
    this.#updates.delete(id);
    if (this.#sent.has(id)) this.#removes.set(id, message);
  }

  flushUpdates(sink: (message: U) => void): void {
    if (this.#updates.size === 0) return;
    for (const id of sortedKeys(this.#updates)) {
      sink(this.#updates.get(id) as U);
      this.#sent.add(id);
    }
    this.#updates.clear();
  }

  flushRemoves(sink: (message: R) => void): void {
    if (this.#removes.size === 0) return;
    for (const id of sortedKeys(this.#removes)) {
      sink(this.#removes.get(id) as R);
      this.#sent.delete(id);
    }
    this.#removes.clear();
  }

  /** Objects that the receiver has. */
  get sentCount(): number {
    return this.#sent.size;
  }
}

/** The keys in order. */
export function sortedKeys(map: ReadonlyMap<string, unknown>): string[] {
  const keys = [...map.keys()];
  if (keys.length > 1) keys.sort(compareStrings);
  return keys;
}
