import { once } from "node:events";
import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { hasCode } from "@bulrush/base";
import { CtlError } from "../errors.ts";
import type { Output } from "./io.ts";

/** Text is held back until there is this much of it: many short lines cost one write. */
const CHUNK_CHARS = 64 * 1024;

export interface StreamOutputOptions {
  readonly terminal: boolean;
  readonly colours: boolean;
}

/**
 * An output on a stream, with back-pressure.
 *
 * Invariant: `held` is what was written and not yet handed to the stream; after `failure` is set nothing more is.
 */
export function streamOutput(stream: Writable, options: StreamOutputOptions): Output {
  let held = "";
  let failure: CtlError | undefined;
  stream.on("error", (error) => {
    const isClosed = hasCode(error, "EPIPE") || hasCode(error, "ERR_STREAM_DESTROYED");
    failure = isClosed
      ? new CtlError("The reader of the output went away", { code: "CTL_OUTPUT_CLOSED", cause: error })
      : new CtlError(`Cannot write the output: ${error.message}`, { code: "CTL_OUTPUT_FAILED", cause: error });
  });
  const flush = async (): Promise<void> => {
    if (failure !== undefined) throw failure;
    if (held === "") return;
    const text = held;
    held = "";
    // The callback comes when the text is out, or with the error that the listener above has seen.
    const written = new Promise<void>((resolve) => void stream.write(text, () => resolve()));
    if (stream.writableNeedDrain) await Promise.race([once(stream, "drain").catch(() => {}), written]);
    await written;
    if (failure !== undefined) throw failure;
  };
  return {
    async write(text) {
      held += text;
      if (held.length >= CHUNK_CHARS || options.terminal) await flush();
    },
    flush,
    terminal: options.terminal,
    style: (style, text) => (options.colours ? styleText(style, text, { validateStream: false }) : text),
  };
}

/** Colours on a terminal, unless NO_COLOR says no; FORCE_COLOR says yes anywhere. */
export function wantsColours(terminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  const force = env["FORCE_COLOR"];
  if (force !== undefined) return force !== "0";
  return terminal && env["TERM"] !== "dumb";
}
