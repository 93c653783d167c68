/** Of the time between two publishes, what is left to everything but the fan-out: two parts of five. */
const PAUSE_SHARE = 2 / 3;
/** A change never waits longer than this. */
const MAX_WAIT_MS = 100;
/** Shorter waits are no waits: a timer is not more exact. */
const MIN_WAIT_MS = 1;

/**
 * How long to gather changes before they are made a breadcrumb. Nothing at all while the server is idle: a lone change
 * goes out at once. A write costs the same whether it holds one change or ten, so under load the next publish waits
 * until the fan-out of the last one is over, and for a pause of two thirds of it: fan-outs then take three fifths of the
 * time at most, and what comes meanwhile goes out together.
 *
 * ```
 *   publish |== fan-out ==|-- pause --| publish |== fan-out ==|-- pause --|          | publish, at once
 *                ^ a change waits from here to there                          nothing came
 * ```
 * The wait counts from the last publish and not from the change: one that comes late in it waits no longer than needed.
 *
 * Pure: times are arguments, monotonic milliseconds.
 */
export class FlushWindow {
  #fanOutMs = 0;
  #publishedMs = Number.NEGATIVE_INFINITY;

  /** The window as it stands, for metrics: the least time between two publishes; 0 where they need not wait. */
  get windowMs(): number {
    const windowMs = this.#fanOutMs * (1 + PAUSE_SHARE);
    return windowMs < MIN_WAIT_MS ? 0 : windowMs;
  }

  /** How long a change that comes now has to wait before it is published; 0: do it now. */
  waitMs(nowMs: number): number {
    const leftMs = this.#publishedMs + this.windowMs - nowMs;
    return leftMs < MIN_WAIT_MS ? 0 : Math.min(leftMs, MAX_WAIT_MS);
  }

  onPublish(nowMs: number): void {
    this.#publishedMs = nowMs;
  }

  /** The last fan-out took this long, from its publish to the hand-over to the last client. */
  onFanOut(durationMs: number): void {
    this.#fanOutMs = durationMs;
  }
}
