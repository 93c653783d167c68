import type { CancelTimer, Clock } from "@bulrush/base";
import type { AckTracker } from "./ack-tracker.ts";

/**
 * Tells the server what is applied: at once, but at most once an interval, the newest only.
 *
 * Invariant: a timer runs only while an ack waits for its interval to pass.
 */
export class AckSender {
  readonly #tracker: AckTracker;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #send: ((sequence: number) => void) | undefined;
  #sentAtMs: number | undefined;
  #cancel: CancelTimer | undefined;

  constructor(tracker: AckTracker, clock: Clock, intervalMs: number) {
    this.#tracker = tracker;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  connect(send: (sequence: number) => void): void {
    this.#send = send;
  }

  disconnect(): void {
    this.#send = undefined;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  ack(mark: number): void {
    if (!this.#tracker.ack(mark) || this.#send === undefined || this.#cancel !== undefined) return;
    const sinceMs = this.#sentAtMs === undefined ? this.#intervalMs : this.#clock.monotonicMs() - this.#sentAtMs;
    if (sinceMs >= this.#intervalMs) this.#flush();
    else this.#cancel = this.#clock.after(this.#intervalMs - sinceMs, () => this.#flush());
  }

  #flush(): void {
    this.#cancel = undefined;
    const { applied } = this.#tracker;
    if (applied === undefined) return;
    this.#sentAtMs = this.#clock.monotonicMs();
    this.#send?.(applied);
  }
}
