/** After a fan-out under load, so much of its time is left to everything else: three parts of eight of the whole. */
const PAUSE_SHARE = 3 / 5;
/** Changes that come this many fan-outs apart are not load: the next would not come within the pause anyway. */
const SPARSE_FAN_OUTS = 4 / 3;
/** How much one distance between changes moves their mean. */
const MEAN_WEIGHT = 1 / 8;
/** A longer distance counts as one of this: one quiet night is not to outweigh what comes after it. */
const MAX_DISTANCE_MS = 1000;
/** A change never waits longer than this. */
const MAX_WAIT_MS = 100;
/** Shorter waits are no waits: a timer is not more exact. */
const MIN_WAIT_MS = 1;

/**
 * How long to gather changes before they are made a breadcrumb. Nothing at all while the server is idle: a lone change
 * goes out at once. A write costs the same whether it holds one change or ten, so under load the next publish waits
 * until the fan-out of the last one is over, and for a pause of three fifths of it: fan-outs then take five eighths of
 * the time at most, and what comes meanwhile goes out together.
 *
 * ```
 *   publish |== fan-out ==|-- pause --| publish |== fan-out ==|-- pause --|          | publish, at once
 *                ^ a change waits from here to there                          nothing came
 * ```
 * The wait counts from the last publish and not from the change: one that comes late in it waits no longer than needed.
 * Where changes come four thirds of a fan-out apart, on average, there is no pause: it would make each of them later and
 * bring few of them together.
 *
 * Pure: times are arguments, monotonic milliseconds.
 */
export class FlushWindow {
  #fanOutMs = 0;
  #publishedMs = Number.NEGATIVE_INFINITY;
  #changedMs = Number.NEGATIVE_INFINITY;
  /** Mean distance between changes. */
  #distanceMs = MAX_DISTANCE_MS;

  /** The window as it stands, for metrics: the least time between two publishes; 0 where they need not wait. */
  get windowMs(): number {
    const isSparse = this.#distanceMs >= this.#fanOutMs * SPARSE_FAN_OUTS;
    const windowMs = isSparse ? this.#fanOutMs : this.#fanOutMs * (1 + PAUSE_SHARE);
    return windowMs < MIN_WAIT_MS ? 0 : windowMs;
  }

  /** Changes have come, one or several at once. Before `waitMs` of the same time. */
  onChange(nowMs: number): void {
    const distanceMs = Math.min(nowMs - this.#changedMs, MAX_DISTANCE_MS);
    this.#distanceMs += (distanceMs - this.#distanceMs) * MEAN_WEIGHT;
    this.#changedMs = nowMs;
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
