import { type Clock, sleep } from "@bulrush/base";

export interface RequestLimitOptions {
  /** Requests a second, over time. */
  readonly qps: number;
  /** Requests at once after a pause. */
  readonly burst: number;
  readonly clock: Clock;
}

/**
 * A token bucket: `burst` requests at once, then `qps` a second, in the order in which they were asked for.
 *
 * Invariant: `#debt` is how many tokens more than there were have been promised, as of `#atMs`; at most one burst is
 * saved up (a debt of `-burst`).
 */
export class RequestLimit {
  readonly #options: RequestLimitOptions;
  #debt: number;
  #atMs: number;

  constructor(options: RequestLimitOptions) {
    this.#options = options;
    this.#debt = -options.burst;
    this.#atMs = options.clock.monotonicMs();
  }

  /** Resolves when a request may be sent. A request that is given up while it waits keeps its token. */
  async acquire(signal: AbortSignal): Promise<void> {
    const { qps, burst, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#debt = Math.max(-burst, this.#debt - ((nowMs - this.#atMs) / 1000) * qps) + 1;
    this.#atMs = nowMs;
    if (this.#debt > 0) await sleep(clock, (this.#debt / qps) * 1000, signal);
    signal.throwIfAborted();
  }
}
