import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { streamOutput, wantsColours } from "./stream-output.ts";

function sink(code?: string): { readonly stream: Writable; readonly written: string[] } {
  const written: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (code !== undefined) {
        done(Object.assign(new Error(`${code}: it failed`), { code }));
        return;
      }
      written.push(chunk.toString());
      done();
    },
  });
  return { stream, written };
}

test("streamOutput() holds text back until it is flushed, but not on a terminal", async () => {
  const file = sink();
  const output = streamOutput(file.stream, { terminal: false, colours: false });
  await output.write("a");
  await output.write("b");
  assert.deepEqual(file.written, []);
  await output.flush();
  assert.deepEqual(file.written, ["ab"]);
  const screen = sink();
  await streamOutput(screen.stream, { terminal: true, colours: false }).write("a");
  assert.deepEqual(screen.written, ["a"]);
});

for (const [error, code] of [
  ["EPIPE", "CTL_OUTPUT_CLOSED"],
  ["ENOSPC", "CTL_OUTPUT_FAILED"],
] as const) {
  test(`streamOutput() throws ${code} after ${error}, at this write and at each later one`, async () => {
    const output = streamOutput(sink(error).stream, { terminal: true, colours: false });
    await assert.rejects(output.write("a"), { code });
    await assert.rejects(output.write("b"), { code });
  });
}

test("wantsColours() follows the terminal, NO_COLOR, FORCE_COLOR and TERM", () => {
  const rows: readonly [terminal: boolean, env: Record<string, string>, want: boolean][] = [
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "" }, true],
    [false, { FORCE_COLOR: "1" }, true],
    [true, { FORCE_COLOR: "0" }, false],
    [false, { FORCE_COLOR: "1", NO_COLOR: "1" }, false],
    [true, { TERM: "dumb" }, false],
  ];
  for (const [terminal, env, want] of rows) assert.equal(wantsColours(terminal, env), want, JSON.stringify(env));
});
