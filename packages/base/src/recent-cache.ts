import { assert } from "./assert.ts";

/**
 * Remembers what was made of a text, for texts that come again soon. It holds at most twice `generationSize` entries:
 * when the young generation is full it becomes the old one, and what is not asked for until the next time is forgotten.
 *
 * Invariant: no key is in both generations.
 */
export class RecentCache<V extends object | string | number | boolean> {
  readonly generationSize: number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  constructor(generationSize: number) {
    assert(generationSize > 0, "A cache needs room");
    this.generationSize = generationSize;
  }

  /** At most twice `generationSize`. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Makes it young again. `undefined` where it was never there, or is forgotten. */
  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.#add(key, old);
    return old;
  }

  /** May forget the old generation. */
  set(key: string, value: V): void {
    this.#old.delete(key);
    this.#add(key, value);
  }

  #add(key: string, value: V): void {
    this.#young.set(key, value);
    if (this.#young.size < this.generationSize) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
