/** How delays grow from one failure to the next. */
export interface BackoffOptions {
  /** The first delay, before its random part is taken off. */
  readonly initialMs: number;
  /** No delay is longer, the first one neither. */
  readonly maxMs: number;
  /** Growth a step. Default 2. */
  readonly factor?: number;
  /** Share of each delay that is random, 0 to 1. Default 0.5: a delay of 100 ms becomes 50 to 100 ms. */
  readonly jitter?: number;
}

/**
 * Growing, jittered delays. Pure but for the random source that is handed in.
 *
 * Invariant: `#baseMs` is never above the cap, so it cannot overflow.
 */
export class Backoff {
  readonly #options: Required<BackoffOptions>;
  readonly #random: () => number;
  #baseMs: number;

  /** `random` gives numbers in [0, 1). */
  constructor(options: BackoffOptions, random: () => number) {
    this.#options = { factor: 2, jitter: 0.5, ...options };
    this.#random = random;
    this.#baseMs = Math.min(options.initialMs, options.maxMs);
  }

  /** The delay to wait before the next try, in milliseconds. Each call grows the one after it. */
  nextMs(): number {
    const base = this.#baseMs;
    this.#baseMs = Math.min(this.#options.maxMs, base * this.#options.factor);
    return base * (1 - this.#options.jitter * this.#random());
  }

  /** Starts again from the first delay: call it after something worked. */
  reset(): void {
    this.#baseMs = Math.min(this.#options.initialMs, this.#options.maxMs);
  }
}
