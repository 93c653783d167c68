import { createReadStream } from "node:fs";
import { messageOf } from "@bulrush/base";
import type { CommandIo } from "../cli/io.ts";
import { inputError } from "../errors.ts";

/** Longer lines are refused: nothing that we read needs them, and a file without line ends must not fill the memory. */
export const MAX_LINE_BYTES: number = 16 * 1024 * 1024;

export interface InputLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** The lines of a file, or of standard input for "-", one by one; blank lines are left out. Throws CTL_INPUT. */
export async function* readLines(path: string, io: CommandIo): AsyncGenerator<InputLine> {
  const source: AsyncIterable<Uint8Array> = path === "-" ? io.stdin : createReadStream(path);
  let number = 0;
  try {
    for await (const text of splitLines(source)) {
      number++;
      if (text.trim() !== "") yield { number, text };
    }
  } catch (error) {
    throw inputError(`Cannot read ${path === "-" ? "standard input" : `"${path}"`}: ${messageOf(error)}`, error);
  }
}

async function* splitLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  for await (const chunk of source) {
    let start = 0;
    const bytes = Buffer.from(chunk);
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      const line = bytes.subarray(start, end);
      yield (rest.length === 0 ? line : Buffer.concat([rest, line])).toString("utf8").replace(/\r$/, "");
      rest = Buffer.alloc(0);
      start = end + 1;
    }
    rest = rest.length === 0 ? bytes.subarray(start) : Buffer.concat([rest, bytes.subarray(start)]);
    if (rest.length > MAX_LINE_BYTES) throw new Error(`A line is longer than ${MAX_LINE_BYTES} bytes`);
  }
  if (rest.length > 0) yield rest.toString("utf8");
}
