/** A client that was announced is there after this long, or has gone elsewhere. */
const HELD_MS = 3000;

/**
 * Places of this server that are promised to clients of others: without them, servers that hand over at the same time
 * would all see the same free place. Times are Unix ms.
 *
 * Invariant: in order of time; those that are over go at the next call.
 */
export class Reservations {
  #atMs: readonly number[] = [];

  add(nowMs: number): void {
    this.#atMs = [...this.#held(nowMs), nowMs];
  }

  /** Promised to clients that have not come yet. `connectedAtMs`: when those that are here came. */
  count(nowMs: number, connectedAtMs: Iterable<number>): number {
    this.#atMs = this.#held(nowMs);
    const [first] = this.#atMs;
    if (first === undefined) return 0;
    let arrived = 0;
    for (const atMs of connectedAtMs) if (atMs >= first) arrived++;
    return Math.max(0, this.#atMs.length - arrived);
  }

  #held(nowMs: number): readonly number[] {
    return this.#atMs.filter((atMs) => nowMs - atMs < HELD_MS);
  }
}
