/** A client that came back within this time is left alone: it found nothing better. */
const REMEMBERED_MS = 10 * 60_000;
const MAX_REMEMBERED = 20_000;

/**
 * The clients that were handed over lately. Times grow.
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

  /** How many of these streams were handed over lately and have come back since. `connectedAtMs`: on the same clock. */
  cameBack(streams: readonly { readonly clientId: string; readonly connectedAtMs: number }[], nowMs: number): number {
    if (this.#at.size === 0) return 0;
    let count = 0;
    for (const { clientId, connectedAtMs } of streams) {
      const atMs = this.#at.get(clientId);
      if (atMs !== undefined && nowMs - atMs <= REMEMBERED_MS && connectedAtMs > atMs) count++;
    }
    return count;
  }

  has(clientId: string, nowMs: number): boolean {
    const atMs = this.#at.get(clientId);
    return atMs !== undefined && nowMs - atMs <= REMEMBERED_MS;
  }
}
