/** A client that is too far behind is looked at again after this share of the limit, and at most after 30 s. */
const PROGRESS_SHARE = 0.1;
const PROGRESS_MAX_MS = 30_000;

export type LagJudgement = "fine" | "grace-used" | "catching-up" | "too-far";

/**
 * Decides when a client is too far behind to be helped: further than the limit, past the grace that newcomers have
 * after their snapshot, and not getting nearer. Only the last makes the difference between a slow network, where
 * starting anew costs more than going on, and a client that will never arrive.
 */
export class LagWatch {
  readonly #maxMs: number;
  readonly #graceMs: number;
  #graceUsed = false;
  #mark: { readonly atMs: number; readonly lagMs: number } | undefined = undefined;

  constructor(maxMs: number, graceMs: number) {
    this.#maxMs = maxMs;
    this.#graceMs = graceMs;
  }

  /** `nowMs` and `snapshotDoneMs` on one clock. "grace-used" comes once in a client's life. */
  judge(lagMs: number, nowMs: number, snapshotDoneMs: number): LagJudgement {
    if (lagMs <= this.#maxMs) {
      this.#mark = undefined;
      return "fine";
    }
    if (nowMs - snapshotDoneMs < this.#graceMs) {
      if (this.#graceUsed) return "fine";
      this.#graceUsed = true;
      return "grace-used";
    }
    const mark = this.#mark;
    if (mark === undefined) {
      this.#mark = { atMs: nowMs, lagMs };
      return "catching-up";
    }
    if (nowMs - mark.atMs < Math.min(PROGRESS_MAX_MS, this.#maxMs * PROGRESS_SHARE)) return "catching-up";
    if (lagMs >= mark.lagMs) return "too-far";
    this.#mark = { atMs: nowMs, lagMs };
    return "catching-up";
  }
}
