/** In the long run, read-backs that others cause take at most one part in this many of the time. */
const SHARE = 20;
const MIN_PAUSE_MS = 100;
/** What may be read back beyond that share without a longer pause: several changes in a row are each repaired at once. */
const ALLOWANCE_MS = 2_000;

/**
 * When the state may be read back because somebody else has changed something: at once for a while, and then with pauses
 * in proportion to what the read-backs cost, so that a program that never stops changing tables does not keep us at it.
 *
 * Invariant: `#debtMs` is what was read back up to `#atMs`, less the share of the time that has passed since; it is never
 * negative. Times are monotonic ms.
 */
export class ReadBackPacer {
  #debtMs = 0;
  #atMs = -Infinity;

  /** Milliseconds from now until the next one may begin; 0 for now. */
  waitMs(nowMs: number): number {
    const beyondMs = this.#debtMs - ALLOWANCE_MS;
    const freeAtMs = this.#atMs + Math.max(MIN_PAUSE_MS, beyondMs * SHARE);
    return Math.max(0, freeAtMs - nowMs);
  }

  /** One has been done. */
  done(startMs: number, endMs: number): void {
    const paidMs = (startMs - this.#atMs) / SHARE;
    this.#debtMs = Math.max(0, this.#debtMs - paidMs) + (endMs - startMs);
    this.#atMs = endMs;
  }
}
