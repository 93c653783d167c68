import type { Delta, Ping, Welcome } from "@bulrush/proto";

/**
 * What is known of how fresh the held state is, and whether a server would set it back. Times are Unix milliseconds of
 * the servers' clocks.
 *
 * Invariant: `#knownAtMs` never goes back.
 */
export class Freshness {
  #knownAtMs: number | undefined;
  #staleSinceMs: number | undefined;

  /** Since when the server that is followed is stale, as of its last ping. */
  get staleSinceMs(): number | undefined {
    return this.#staleSinceMs;
  }

  /** What is held was right at this time. */
  onHeld(atMs: number): void {
    this.#know(atMs);
  }

  /** Another server is followed. */
  onWelcome({ staleSinceMs }: Welcome): void {
    this.#staleSinceMs = staleSinceMs;
  }

  onPing({ sentAtMs, upstreamAgeMs, staleSinceMs }: Ping): void {
    this.#staleSinceMs = staleSinceMs;
    this.#know(sentAtMs - upstreamAgeMs);
  }

  onDelta({ seenAtMs }: Delta): void {
    this.#know(seenAtMs);
  }

  /**
   * Whether to follow a server that says this of itself. A fresh one always; a stale one only if it knows as much as
   * was known here, or, where there is a server to stay with, more.
   */
  mayFollow({ resume, staleSinceMs }: Welcome, hasServer: boolean): boolean {
    // Deltas go on from here, wherever that is.
    if (resume === "deltas" || staleSinceMs === undefined || this.#knownAtMs === undefined) return true;
    return hasServer ? staleSinceMs > this.#knownAtMs : staleSinceMs >= this.#knownAtMs;
  }

  #know(atMs: number): void {
    if (this.#knownAtMs === undefined || atMs > this.#knownAtMs) this.#knownAtMs = atMs;
  }
}
