import assert from "node:assert/strict";
import { test } from "node:test";
import type { CommandIo } from "../cli/io.ts";
import { MAX_LINE_BYTES, readLines } from "./lines.ts";

async function* chunks(parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? new TextEncoder().encode(part) : part;
}

async function read(parts: readonly (string | Uint8Array)[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const { number, text } of readLines("-", { stdin: chunks(parts) } as unknown as CommandIo))
    lines.push(`${number}:${text}`);
  return lines;
}

test("readLines() gives lines whatever the chunks, without blanks", async () => {
  assert.deepEqual(await read(["a\nb", "c\r\n", "\n  \nd", "", "e"]), ["1:a", "2:bc", "5:de"]);
  assert.deepEqual(await read([]), []);
  const bytes = new TextEncoder().encode("é\nz\n");
  assert.deepEqual(await read([bytes.subarray(0, 1), bytes.subarray(1)]), ["1:é", "2:z"]);
});

test("readLines() refuses a line without end", async () => {
  const part = new Uint8Array(MAX_LINE_BYTES / 4).fill(97);
  await assert.rejects(read([part, part, part, part, part]), { code: "CTL_INPUT", message: /longer than/ });
});

test("readLines() names the file that cannot be read", async () => {
  await assert.rejects(readLines("/nonexistent/x", {} as unknown as CommandIo).next(), {
    code: "CTL_INPUT",
    message: /"\/nonexistent\/x"/,
  });
});
