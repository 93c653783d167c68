import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { encodeMessage } from "@bulrush/proto";
import { buildConsole } from "../build/build-console.ts";
import type { FromGraph } from "./graph/messages.ts";

const directory = mkdtempSync(join(tmpdir(), "bulrush-console-"));
after(() => rmSync(directory, { recursive: true }));

/** One frame of a snapshot after its length, as the admin API gives it. */
function body(): Uint8Array<ArrayBuffer> {
  const frame = encodeMessage({ type: "snapshot-end", sequence: 4, count: 0 });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(frame.length);
  return Uint8Array.from([...length, ...frame]);
}

test("the built worker runs where there is nothing of Node", async () => {
  await buildConsole(directory);
  const told: FromGraph[] = [];
  const loaded = Promise.withResolvers<void>();
  let listener: (event: { readonly data: unknown }) => void = () => assert.fail("nobody listens");
  const browser = {
    addEventListener: (_: string, callback: typeof listener) => (listener = callback),
    postMessage: (message: FromGraph) => {
      told.push(message);
      if (message.type !== "progress") loaded.resolve();
    },
    fetch: (url: string) => {
      assert.equal(url, "/api/v1/snapshot/felix");
      return Promise.resolve(new Response(body(), { headers: { "x-bulrush-epoch": "e", "x-bulrush-keys": "0" } }));
    },
    TextDecoder,
    TextEncoder,
  };
  runInContext(readFileSync(join(directory, "graph-worker.js"), "utf8"), createContext(browser));
  listener({ data: { type: "load" } });
  await loaded.promise;
  const last = told.at(-1);
  assert.equal(last?.type, "loaded", JSON.stringify(last));
  assert.deepEqual([last.snapshot.epoch, last.snapshot.sequence, last.snapshot.keys], ["e", 4, 0]);
});
