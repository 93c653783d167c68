import { Backoff, type Clock, sleep } from "@bulrush/base";
import { datastoreCodeOf } from "../../errors.ts";
import { retryAfterMsOf } from "../client/status-error.ts";

/**
 * The pause before the next try of one kind, beside the fixed ones of whoever reads: it grows with each failure, is
 * partly random, so that the readers of a server that comes back do not all come at once, and is as long as the server
 * asks for.
 */
export class Pacer {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  #notBeforeMs = 0;

  /** @param random Numbers in [0, 1). */
  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#backoff = new Backoff({ initialMs: 1000, maxMs: 10_000, jitter: 1 }, random);
  }

  async wait(signal: AbortSignal): Promise<void> {
    const waitMs = this.#notBeforeMs - this.#clock.monotonicMs();
    if (waitMs > 0) await sleep(this.#clock, waitMs, signal);
  }

  succeeded(): void {
    this.#backoff.reset();
    this.#notBeforeMs = 0;
  }

  /** Answers that say something about the data are no failures. */
  failed(error: unknown): void {
    switch (datastoreCodeOf(error)) {
      case "DATASTORE_NOT_FOUND":
      case "DATASTORE_EXPIRED":
        this.succeeded();
        return;
      default: {
        const pauseMs = Math.min(retryAfterMsOf(error) ?? 0, MAX_PAUSE_MS) + this.#backoff.nextMs();
        this.#notBeforeMs = this.#clock.monotonicMs() + pauseMs;
      }
    }
  }
}

/** No server is obeyed for longer. */
const MAX_PAUSE_MS = 60_000;
