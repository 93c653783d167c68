import type { CancelTimer, Clock } from "./clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until it is told to move: for tests and for replays.
 *
 * Invariant: no timer that waits is due before `nowMs`.
 */
export class ManualClock implements Clock {
  /** The same number as `monotonicMs`. */
  #nowMs: number;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(startMs = 0) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** A delay below 0 counts as 0. Fires only within `advance`. */
  after(delayMs: number, callback: () => void): CancelTimer {
    const timer: Timer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /**
   * Moves time forward and fires every timer that falls due, in order of due time, then of creation.
   * Timers made by a callback fire too when they fall inside the span. Promise callbacks run between timers.
   */
  async advance(spanMs: number): Promise<void> {
    const endMs = this.#nowMs + spanMs;
    await settle();
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#timers.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
      await settle();
    }
    this.#nowMs = endMs;
  }

  #next(endMs: number): Timer | undefined {
    let best: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs > endMs) continue;
      if (best === undefined || timer.dueMs < best.dueMs || (timer.dueMs === best.dueMs && timer.order < best.order))
        best = timer;
    }
    return best;
  }
}

/** Lets everything that is already resolved run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
