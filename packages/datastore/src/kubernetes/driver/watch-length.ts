/** Where bookmarks come: random between this and twice it, so that watches do not all end together. */
const LONG_SECONDS = 300;

/**
 * How long the server is asked to keep a watch.
 *
 * A server sends a bookmark a minute, but only for lists of which it has seen a change since its own start: the watch of
 * a quiet kind may hear nothing for hours, just like one whose connection is half open. So a watch is short, to be ended
 * by the server before its silence counts as death, until one of the same list has heard a bookmark and come to its
 * proper end. After any other end nothing is known again: it may be another server.
 *
 * Invariant: `#bookmarked` has the paths of which the last watch heard a bookmark and ended properly.
 */
export class WatchLength {
  readonly #idleMs: number;
  readonly #random: () => number;
  readonly #bookmarked = new Set<string>();

  /**
   * @param idleMs Silence that counts as death.
   * @param random Numbers in [0, 1).
   */
  constructor(idleMs: number, random: () => number) {
    this.#idleMs = idleMs;
    this.#random = random;
  }

  /** For the next watch of a list. */
  secondsOf(path: string): number {
    const share = this.#random();
    if (this.#bookmarked.has(path)) return Math.floor(LONG_SECONDS * (1 + share));
    return Math.max(1, Math.floor((this.#idleMs / 1000) * (0.8 + 0.1 * share)));
  }

  ended(path: string, hasHeardBookmark: boolean, isProper: boolean): void {
    if (hasHeardBookmark && isProper) this.#bookmarked.add(path);
    else this.#bookmarked.delete(path);
  }
}
