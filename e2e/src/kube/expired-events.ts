const ERROR_EVENT = '{"type":"ERROR"';
const CODE_GONE = /"code":410\b/;
const NEWLINE = "\n";

/** Looks for the events of a watch that say 410 Gone (k8s.io/apimachinery, meta/v1 `WatchEvent`), one a line. */
export class ExpiredEvents {
  readonly #onExpired: () => void;
  /** The beginning of the line that is not over; all of it while it may be an error. */
  #line = "";

  constructor(onExpired: () => void) {
    this.#onExpired = onExpired;
  }

  /** More of the body, cut anywhere. */
  push(chunk: Buffer): void {
    const text = chunk.toString("latin1");
    for (let from = 0; ; ) {
      const end = text.indexOf(NEWLINE, from);
      const piece = text.slice(from, end === -1 ? undefined : end);
      if (this.#line.length < ERROR_EVENT.length || this.#line.startsWith(ERROR_EVENT)) this.#line += piece;
      if (end === -1) return;
      if (this.#line.startsWith(ERROR_EVENT) && CODE_GONE.test(this.#line)) this.#onExpired();
      this.#line = "";
      from = end + 1;
    }
  }
}
