import type { IncomingMessage } from "node:http";
import type { Clock } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import { IdleTimer } from "./idle-timer.ts";
import { networkError } from "./network-error.ts";

export interface BodyOptions {
  readonly answer: IncomingMessage;
  readonly op: string;
  readonly signal: AbortSignal;
}

/**
 * The body of an answer, piece by piece, each when it is asked for. Throws DATASTORE_TIMEOUT when none comes for
 * `answerTimeoutMs`, and when the body ends too early. Whoever stops reading ends the request.
 */
export async function* bodyChunks(
  { clock, answerTimeoutMs }: { readonly clock: Clock; readonly answerTimeoutMs: number },
  { answer, op, signal }: BodyOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const pieces = answer[Symbol.asyncIterator]() as AsyncIterableIterator<Buffer>;
  let isAwaited = false;
  let isSilent = false;
  const idle = new IdleTimer(clock, answerTimeoutMs, () => {
    // Only the server's silence counts, not the reader's.
    if (!isAwaited) return idle.restart();
    isSilent = true;
    answer.destroy();
  });
  const onAbort = (): void => {
    answer.destroy();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    for (;;) {
      idle.touch();
      isAwaited = true;
      const { done = false, value } = await pieces.next();
      isAwaited = false;
      if (done) break;
      yield value;
    }
    signal.throwIfAborted();
    if (isSilent || !answer.complete) throw new Error("the answer ended early");
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!isSilent) throw networkError(op, error);
    const message = `${op}: nothing came for ${answerTimeoutMs / 1000} s in the middle of the answer`;
    throw new DatastoreError(message, { code: "DATASTORE_TIMEOUT", op });
  } finally {
    idle.stop();
    signal.removeEventListener("abort", onAbort);
    // Not after a whole one: its connection is kept.
    if (!answer.readableEnded) answer.destroy();
  }
}

/** All of a body as text. Throws DATASTORE_MALFORMED when it is longer than `maxBytes`. */
export async function readBody(chunks: AsyncIterable<Buffer>, op: string, maxBytes: number): Promise<string> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      const message = `${op}: the answer is longer than ${maxBytes} bytes`;
      throw new DatastoreError(message, { code: "DATASTORE_MALFORMED", op, data: { limit: maxBytes } });
    }
    all.push(chunk);
  }
  return Buffer.concat(all).toString("utf8");
}
