/** Length of one tick, in milliseconds. */
export const TICK_MS = 10;
/** Flushes that a quiet time saves up: the burst before flushing falls to one per tick. */
export const MAX_SAVED_FLUSHES = 10;

/**
 * Decides when the graph is flushed: a leaky bucket, without a clock of its own. It starts empty, gains one flush a
 * tick up to {@link MAX_SAVED_FLUSHES}, and loses one per flush. So a lone update waits at most a tick, a burst gets
 * ten immediate flushes, and a steady load at most 100 flushes a second.
 *
 * The driver calls `onEvent` after every batch and status, `onTick` from its timer, and flushes the graph whenever
 * `takeFlush` says so. A late timer is made good: the ticks are counted from the time that is passed in.
 *
 * Invariant: 0 <= saved <= MAX_SAVED_FLUSHES; `#lastTickMs` is a multiple of TICK_MS after the start.
 */
export class FlushBucket {
  #saved = 0;
  #dirty = false;
  #seenInSync = false;
  #lastTickMs: number;

  /** `nowMs`: a monotonic time in milliseconds, from the same source as in `onTick`. */
  constructor(nowMs: number) {
    this.#lastTickMs = nowMs;
  }

  /** Something was given to the graph. The first in-sync makes sure that a flush may follow at once. */
  onEvent(inSync = false): void {
    this.#dirty = true;
    if (!inSync || this.#seenInSync) return;
    this.#seenInSync = true;
    this.#saved = Math.max(this.#saved, 1);
  }

  /** Ticks that were missed count too. A time that goes back does nothing. */
  onTick(nowMs: number): void {
    const ticks = Math.floor((nowMs - this.#lastTickMs) / TICK_MS);
    if (ticks <= 0) return;
    this.#lastTickMs += ticks * TICK_MS;
    this.#saved = Math.min(MAX_SAVED_FLUSHES, this.#saved + ticks);
  }

  /** True when the graph is to be flushed now: then the flush is accounted for, and the caller must do it. */
  takeFlush(): boolean {
    if (!this.#dirty || this.#saved === 0) return false;
    this.#saved--;
    this.#dirty = false;
    return true;
  }

  /** Whether something waits for a flush: only then does the driver need its timer. */
  get dirty(): boolean {
    return this.#dirty;
  }
}
