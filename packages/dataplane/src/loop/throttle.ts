/**
 * A bucket of permits: it holds ten, starts with one and gains one each 100 ms. A quiet dataplane applies at once, a busy
 * one ten times a second.
 */
export class Throttle {
  readonly #capacity: number;
  readonly #intervalMs: number;
  #permits = 1;
  #filledAtMs: number;

  constructor(nowMs: number, capacity = 10, intervalMs = 100) {
    this.#capacity = capacity;
    this.#intervalMs = intervalMs;
    this.#filledAtMs = nowMs;
  }

  /** Takes a permit: 0. Or gives the milliseconds until there is one. */
  take(nowMs: number): number {
    const gained = Math.floor((nowMs - this.#filledAtMs) / this.#intervalMs);
    if (gained > 0) {
      this.#permits = Math.min(this.#capacity, this.#permits + gained);
      this.#filledAtMs += gained * this.#intervalMs;
    }
    if (this.#permits === 0) return this.#filledAtMs + this.#intervalMs - nowMs;
    this.#permits--;
    return 0;
  }
}
