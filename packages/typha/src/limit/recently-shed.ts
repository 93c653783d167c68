/** A client that came back within this time is left alone: it found nothing better. */
const REMEMBERED_MS = 10 * 60_000;
const MAX_REMEMBERED = 20_000;

/**
 * The clients that were handed over lately. Times are monotonic and grow.
 *
 * Invariant: in order of time, at most MAX_REMEMBERED.
 */
export class RecentlyShed {
  readonly #at = new Map<string, number>();

  add(clientId: string, nowMs: number): void {
    this.#at.delete(clientId);
    this.#at.set(clientId, nowMs);
    for (const [oldest, atMs] of this.#at) {
      if (nowMs - atMs <= REMEMBERED_MS && this.#at.size <= MAX_REMEMBERED) return;
      this.#at.delete(oldest);
    }
  }

  has(clientId: string, nowMs: number): boolean {
    const atMs = this.#at.get(clientId);
    return atMs !== undefined && nowMs - atMs <= REMEMBERED_MS;
  }
}
