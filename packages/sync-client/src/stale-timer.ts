import { Backoff, type CancelTimer, type Clock } from "@bulrush/base";

/** If there was no better one, the next try comes after this, doubling, half of it random. */
const RETRY_MS = 30_000;
const RETRY_MAX_MS = 5 * 60_000;

/**
 * When to look for a better server, while the one that is followed is stale.
 *
 * Invariant: at most one timer runs.
 */
export class StaleTimer {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #leaveMs: number;
  readonly #onDue: () => void;
  readonly #backoff: Backoff;
  #cancel: CancelTimer | undefined;

  constructor(options: {
    readonly clock: Clock;
    readonly random: () => number;
    /** A stale server is left at a moment within this time: not by all of its clients at once. */
    readonly leaveMs: number;
    readonly onDue: () => void;
  }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#leaveMs = options.leaveMs;
    this.#onDue = options.onDue;
    this.#backoff = new Backoff({ initialMs: RETRY_MS, maxMs: RETRY_MAX_MS }, options.random);
  }

  /** The server says that it is stale. */
  onStale(): void {
    if (this.#cancel === undefined) this.#start(this.#leaveMs * this.#random());
  }

  /** There was no better one. */
  retry(): void {
    this.stop();
    this.#start(this.#backoff.nextMs());
  }

  /** The server is fresh. */
  onFresh(): void {
    this.#backoff.reset();
    this.stop();
  }

  /** There is nothing to wait for, for the time being. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #start(delayMs: number): void {
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#cancel = undefined;
      this.#onDue();
    });
  }
}
