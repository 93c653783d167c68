/** What a client may send in a burst, and per second after it. A client acks a few times a second and answers pings. */
const BURST = 500;
const PER_SECOND = 100;

/**
 * Counts what a client sends, messages and websocket pings alike: a bucket of 500 that fills by 100 a second. Pure: the
 * time is an argument, monotonic milliseconds.
 */
export class InboundMeter {
  #left = BURST;
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** One more has come. False: it is one too many. */
  take(nowMs: number): boolean {
    this.#left = Math.min(BURST, this.#left + ((nowMs - this.#atMs) * PER_SECOND) / 1000);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
