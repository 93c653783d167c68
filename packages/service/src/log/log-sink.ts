import { closeSync, write, writeSync } from "node:fs";

export interface LogSinkOptions {
  readonly fd: number;
  /** False: each line is tried at once, and waits for a reader that is slow. True: a line never costs time. */
  readonly isAsync: boolean;
}

/** Beyond it a line is dropped. */
const MAX_WAITING_BYTES: number = 1024 * 1024;
const MAX_CHUNK_BYTES: number = 128 * 1024;
/** Before a reader is tried again that has not read. */
const BUSY_MS = 50;
/** So long the end of the process waits for it. */
const FLUSH_MS = 1000;
/** Enough for another thread to write what it has, if anybody reads. */
const IN_FLIGHT_MS = 20;

/** Flushed when the process ends. */
const open = new Set<LogSink>();

/**
 * Lines on their way to a file descriptor, in their order. What cannot be written (a full disk, a reader that has gone)
 * waits for the next line to be tried with, up to 1 MiB, and does not hold up the end of the process. A blocking pipe does,
 * whose reader is there and does not read: Node itself does not end before the thread that writes to it.
 *
 * Invariant: what is being written by another thread is not in `#waiting`, but counts in `#bytes`.
 */
export class LogSink {
  readonly #options: LogSinkOptions;
  readonly #waiting: Buffer[] = [];
  #bytes = 0;
  #isWriting = false;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(options: LogSinkOptions) {
    this.#options = options;
    if (open.size === 0) process.on("exit", flushAll);
    open.add(this);
  }

  /** Lines given up. */
  get dropped(): number {
    return this.#dropped;
  }

  write(text: string): void {
    const line = Buffer.from(text);
    const fits = this.#bytes + line.length <= MAX_WAITING_BYTES;
    if (this.#isClosed || !fits) this.#dropped++;
    if (this.#isClosed) return;
    if (fits) {
      this.#waiting.push(line);
      this.#bytes += line.length;
    }
    // Also for a line that is dropped: by now there may be room for those that wait.
    if (!this.#options.isAsync) this.#writeAll(Number.POSITIVE_INFINITY);
    else if (this.#retry === undefined) this.#next();
  }

  /** Writes what waits, as far as it can be written. */
  flush(): void {
    // Lines that come before these: they are not to be overtaken, nor cut off by the end of the process.
    if (this.#isWriting) sleep(IN_FLIGHT_MS);
    this.#writeAll(performance.now() + FLUSH_MS);
  }

  /** Flushes, and closes the descriptor if it is none of the process's own three. */
  close(): void {
    if (this.#isClosed) return;
    this.flush();
    this.#isClosed = true;
    open.delete(this);
    if (open.size === 0) process.off("exit", flushAll);
    clearTimeout(this.#retry);
    // Another thread may have the number still: it closes behind that.
    if (!this.#isWriting) this.#closeFile();
  }

  #next(): void {
    this.#retry = undefined;
    if (this.#isWriting) return;
    const chunk = this.#take();
    if (chunk === undefined) return;
    this.#isWriting = true;
    write(this.#options.fd, chunk, (error, count) => {
      this.#isWriting = false;
      this.#putBack(chunk, error === null ? count : 0);
      if (this.#isClosed) this.#closeFile();
      else if (error === null) this.#next();
      else if (isBusy(error)) this.#retry = setTimeout(() => this.#next(), BUSY_MS).unref();
    });
  }

  #writeAll(untilMs: number): void {
    for (;;) {
      const chunk = this.#take();
      if (chunk === undefined) return;
      try {
        this.#putBack(chunk, writeSync(this.#options.fd, chunk));
      } catch (error) {
        this.#putBack(chunk, 0);
        if (!isBusy(error) || performance.now() > untilMs) return;
        sleep(BUSY_MS);
      }
    }
  }

  #take(): Buffer | undefined {
    let length = this.#waiting[0]?.length ?? 0;
    let lines = Math.min(this.#waiting.length, 1);
    for (; lines < this.#waiting.length; lines++) {
      length += this.#waiting[lines]?.length ?? 0;
      if (length > MAX_CHUNK_BYTES) break;
    }
    return lines === 0 ? undefined : Buffer.concat(this.#waiting.splice(0, lines));
  }

  #putBack(chunk: Buffer, written: number): void {
    this.#bytes -= written;
    if (written < chunk.length) this.#waiting.unshift(chunk.subarray(written));
  }

  #closeFile(): void {
    if (this.#options.fd > 2) closeSync(this.#options.fd);
  }
}

function flushAll(): void {
  for (const sink of open) sink.flush();
}

function isBusy(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EAGAIN" || code === "EBUSY";
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
