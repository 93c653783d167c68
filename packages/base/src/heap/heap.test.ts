import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { collectGarbage } from "./heap.ts";

test("collectGarbage frees what nothing refers to", async () => {
  const weak = new WeakRef(new ArrayBuffer(8));
  // What a WeakRef was asked for, or made with, stays until the end of the turn.
  await new Promise((resolve) => setImmediate(resolve));
  await collectGarbage();
  assert.equal(weak.deref(), undefined);
  assert.equal("gc" in globalThis, false);
});

test("collectGarbage works in each thread, also when two ask at once", async () => {
  const path = JSON.stringify(new URL("heap.ts", import.meta.url).href);
  const source = `
    import { parentPort } from "node:worker_threads";
    const { collectGarbage } = await import(${path});
    const weak = new WeakRef({});
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([collectGarbage(), collectGarbage()]);
    parentPort.postMessage(weak.deref() === undefined);
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  const [freed] = await Promise.all([
    new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject)),
    collectGarbage(),
  ]);
  assert.equal(freed, true);
  await worker.terminate();
});
