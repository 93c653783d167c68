import type { IncomingMessage } from "node:http";
import type { Clock } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import { JsonFilter } from "../../json/json-filter.ts";
import type { Shape } from "../../json/shape.ts";
import { IdleTimer } from "../client/idle-timer.ts";

/** Read ahead of the reader; then the connection is left to fill up. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
/** Of one event. The API server's own limit is 3 MiB a request, etcd's 1.5 MiB a value. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const NEWLINE = 0x0a;

export interface WatchLinesOptions {
  readonly answer: IncomingMessage;
  readonly op: string;
  readonly clock: Clock;
  /** Silence after which the stream is given up. */
  readonly idleMs: number;
  readonly signal: AbortSignal;
  /** What is of use of each line. */
  readonly shape: Shape;
}

/** Why a stream of lines is over: the server ended it, the connection did, nothing came for too long, or an error. */
export type WatchEnd = "ended" | "cut" | "idle" | DatastoreError;

/**
 * The body of a watch as pieces of whole lines, of which only what is of use is left. A connection may be half open, so that neither side ever hears of its
 * end: what has been silent for `idleMs` is over.
 *
 * Invariant: `#ready` is whole lines, in order; `#partial` the beginning of the next one. `#readyBytes` is the length of
 * `#ready`; above its bound the body is paused, and its silence does not count.
 */
export class WatchLines {
  readonly #answer: IncomingMessage;
  readonly #op: string;
  readonly #signal: AbortSignal;
  readonly #idle: IdleTimer;
  readonly #filter: JsonFilter;
  #ready: Buffer[] = [];
  #readyBytes = 0;
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #end: WatchEnd | undefined;
  /** Called when there is something to take, and at the end. */
  onChange: (() => void) | undefined;

  constructor({ answer, op, clock, idleMs, signal, shape }: WatchLinesOptions) {
    this.#answer = answer;
    this.#op = op;
    this.#signal = signal;
    this.#filter = new JsonFilter({ shape, isLines: true });
    this.#idle = new IdleTimer(clock, idleMs, () => {
      if (answer.isPaused()) this.#idle.restart();
      else this.#finish("idle");
    });
    signal.addEventListener("abort", this.close, { once: true });
    answer.on("data", (chunk: Buffer) => this.#take(chunk));
    answer.on("end", () => this.#finish(answer.complete ? "ended" : "cut"));
    answer.on("error", () => this.#finish("cut"));
    answer.on("close", () => this.#finish("cut"));
    if (signal.aborted) this.close();
  }

  /** Whole lines that are there, if any. */
  take(): Buffer | undefined {
    const lines = this.#ready.shift();
    if (lines !== undefined) this.#readyBytes -= lines.length;
    if (this.#answer.isPaused() && this.#readyBytes < MAX_BUFFERED_BYTES / 2) {
      this.#idle.touch();
      this.#answer.resume();
    }
    return lines;
  }

  /** The next whole lines, or undefined when there are no more: see `end`. One call at a time; uses `onChange`. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const lines = this.take();
      if (lines !== undefined || this.#end !== undefined) return lines;
      await new Promise<void>((resolve) => {
        this.onChange = resolve;
      });
    }
  }

  /** Whether `take` has something to give. */
  get hasLines(): boolean {
    return this.#ready.length > 0;
  }

  /** Why there are no more lines; undefined while there are. */
  get end(): WatchEnd | undefined {
    return this.#end;
  }

  /** Ends the request. What was read ahead is dropped. */
  readonly close = (): void => {
    this.#ready = [];
    this.#readyBytes = 0;
    this.#finish("cut");
  };

  #take(piece: Buffer): void {
    this.#idle.touch();
    // A copy: what is of use would keep the whole piece, which is many times as long.
    const chunk = Buffer.from(this.#filter.push(piece));
    const cut = chunk.lastIndexOf(NEWLINE) + 1;
    if (cut > 0) {
      const lines =
        this.#partial.length === 0 ? chunk.subarray(0, cut) : Buffer.concat([...this.#partial, chunk.subarray(0, cut)]);
      this.#partial = [];
      this.#partialBytes = 0;
      this.#ready.push(lines);
      this.#readyBytes += lines.length;
      this.onChange?.();
    }
    if (cut < chunk.length) {
      this.#partial.push(chunk.subarray(cut));
      this.#partialBytes += chunk.length - cut;
      if (this.#partialBytes > MAX_LINE_BYTES) {
        const message = `${this.#op}: an event is longer than ${MAX_LINE_BYTES} bytes`;
        this.#finish(new DatastoreError(message, { code: "DATASTORE_MALFORMED", op: this.#op }));
      }
    }
    if (this.#readyBytes > MAX_BUFFERED_BYTES) this.#answer.pause();
  }

  #finish(end: WatchEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#idle.stop();
    this.#signal.removeEventListener("abort", this.close);
    this.#answer.destroy();
    this.onChange?.();
  }
}
