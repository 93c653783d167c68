/**
 * What is remembered of items beyond a resync. Whatever was deleted while nobody watched stays in it, so it has a bound.
 *
 * Invariant: at most `max` entries, those that were set last.
 */
export class Remembered<V> {
  readonly #max: number;
  readonly #values = new Map<string, V>();

  constructor(max: number) {
    this.#max = max;
  }

  get(name: string): V | undefined {
    return this.#values.get(name);
  }

  set(name: string, value: V): void {
    // Last in order, as the one that was set last.
    this.#values.delete(name);
    this.#values.set(name, value);
    if (this.#values.size <= this.#max) return;
    for (const oldest of this.#values.keys()) {
      this.#values.delete(oldest);
      return;
    }
  }

  delete(name: string): void {
    this.#values.delete(name);
  }
}
