import type { CancelTimer, Clock } from "@bulrush/base";

/**
 * Calls back after `idleMs` without `touch`, once unless it is restarted. Cheap to touch: the timer is not set again, it
 * looks when it fires.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #lastMs: number;
  #cancel: CancelTimer | undefined;

  constructor(clock: Clock, idleMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
    this.#lastMs = clock.monotonicMs();
    this.#schedule(idleMs);
  }

  touch(): void {
    this.#lastMs = this.#clock.monotonicMs();
  }

  /** Counts from now on, after it has called back. */
  restart(): void {
    this.touch();
    this.#schedule(this.#idleMs);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(delayMs: number): void {
    this.#cancel = this.#clock.after(delayMs, () => {
      const leftMs = this.#lastMs + this.#idleMs - this.#clock.monotonicMs();
      if (leftMs > 0) this.#schedule(leftMs);
      else this.#onIdle();
    });
  }
}
