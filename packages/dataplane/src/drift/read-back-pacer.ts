/** Read-backs that others cause take at most one part in this many of the time. */
const SHARE = 20;
const MIN_PAUSE_MS = 100;

/**
 * When the state may be read back because somebody else has changed something: at once after a quiet time, and then
 * with pauses in proportion to what a read-back costs, so that a program that never stops changing tables does not keep
 * us at it.
 */
export class ReadBackPacer {
  #freeAtMs = -Infinity;

  /** Milliseconds from now until the next one may begin; 0 for now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#freeAtMs - nowMs);
  }

  /** One has been done. Times in monotonic ms. */
  done(startMs: number, endMs: number): void {
    this.#freeAtMs = endMs + Math.max(MIN_PAUSE_MS, (endMs - startMs) * (SHARE - 1));
  }
}
