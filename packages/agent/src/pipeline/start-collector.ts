import type { Update } from "@bulrush/model";

/**
 * What came before the first in-sync: the newest value of each key.
 *
 * Invariant: no key is there twice, and none that was deleted again; so it is bounded by the datastore's contents.
 */
export class StartCollector {
  readonly #newest = new Map<string, Update>();

  get size(): number {
    return this.#newest.size;
  }

  add(updates: readonly Update[]): void {
    for (const update of updates) {
      if (update.value === undefined) this.#newest.delete(update.path);
      else this.#newest.set(update.path, update);
    }
  }

  values(): Iterable<Update> {
    return this.#newest.values();
  }

  /** Everything, in slices; what was handed out is forgotten. */
  *drain(sliceSize: number): Generator<readonly Update[]> {
    let slice: Update[] = [];
    for (const [path, update] of this.#newest) {
      this.#newest.delete(path);
      slice.push(update);
      if (slice.length < sliceSize) continue;
      yield slice;
      slice = [];
    }
    if (slice.length > 0) yield slice;
  }
}
