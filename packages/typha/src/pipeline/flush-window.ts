/** The window never gets longer than this while fan-outs are shorter than it. */
const MAX_WINDOW_MS = 10;
/** Under overload, when one fan-out takes longer than that: as long as the fan-out, up to this. */
const OVERLOAD_WINDOW_MS = 50;
const FIRST_WINDOW_MS = 1;
/** Weight of the newest interval in the running mean. */
const WEIGHT = 0.2;
/** A longer pause counts as this: after it the stream is idle, whatever it was before. */
const IDLE_MS = 1000;

/**
 * How long to gather changes before they are made a breadcrumb. Nothing at all while the server is idle: a lone change
 * goes out at once. When the last fan-out took more than half of the time between changes, writes are what the server
 * does most, and a write costs the same whether it holds one change or ten: the window grows, and shrinks again when
 * the fan-outs leave room.
 *
 * Pure: times are arguments, monotonic milliseconds.
 */
export class FlushWindow {
  #windowMs = 0;
  #fanOutMs = 0;
  #intervalMs = IDLE_MS;
  #lastEventMs: number | undefined = undefined;

  /** The window as it stands, for metrics. */
  get windowMs(): number {
    return this.#windowMs;
  }

  /** A change has come. Gives how long to wait before publishing it; 0: do it now. */
  onEvent(nowMs: number): number {
    const intervalMs = this.#lastEventMs === undefined ? IDLE_MS : Math.min(IDLE_MS, nowMs - this.#lastEventMs);
    this.#lastEventMs = nowMs;
    this.#intervalMs = intervalMs >= IDLE_MS ? IDLE_MS : this.#intervalMs * (1 - WEIGHT) + intervalMs * WEIGHT;
    const maxMs = Math.max(MAX_WINDOW_MS, Math.min(OVERLOAD_WINDOW_MS, this.#fanOutMs));
    if (this.#fanOutMs > this.#intervalMs / 2) {
      this.#windowMs = Math.min(maxMs, Math.max(FIRST_WINDOW_MS, this.#windowMs * 2));
    } else {
      this.#windowMs = this.#windowMs <= FIRST_WINDOW_MS ? 0 : this.#windowMs / 2;
    }
    return this.#windowMs;
  }

  /** The last fan-out took this long, from its publish to the hand-over to the last client. */
  onFanOut(durationMs: number): void {
    this.#fanOutMs = durationMs;
  }
}
