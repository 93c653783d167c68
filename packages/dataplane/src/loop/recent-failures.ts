/** A failure that was not there for so long is news when it comes back. */
const FORGET_MS = 60_000;

/**
 * Tells what fails for the first time from what has failed all along.
 *
 * Invariant: `#seenMs` has the failures of the last minute, and when each was there last.
 */
export class RecentFailures {
  readonly #seenMs = new Map<string, number>();

  /** Takes the failures of one round. True when one of them was not there within the last minute; so when there are none. */
  hasNews(failures: readonly string[], nowMs: number): boolean {
    for (const [failure, seenMs] of this.#seenMs) if (nowMs - seenMs > FORGET_MS) this.#seenMs.delete(failure);
    const hasNews = failures.length === 0 || failures.some((failure) => !this.#seenMs.has(failure));
    for (const failure of failures) this.#seenMs.set(failure, nowMs);
    return hasNews;
  }
}
