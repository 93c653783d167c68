import assert from "node:assert/strict";
import { test } from "node:test";
import { scriptedItem } from "./scripted-driver.ts";
import { KIND, nameOf, harness, started, watching, item, errorEvent } from "./syncer-harness.ts";

test("the status of a syncer is in-sync only when every kind is, and falls back when one lists again", async () => {
  const h = harness({ type: "tunnel-ip-allocation" });
  h.driver.lists.set("IPPool", [{ error: "DATASTORE_FAILED" }, { revision: "5" }]);
  h.driver.lists.set("Node", [{ pages: [[scriptedItem("Node", "n", "1")]], revision: "7" }]);
  h.syncer.start();
  await h.advance(0);
  assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "new n 1"]);
  await h.advance(1000);
  assert.deepEqual(h.take(), ["status in-sync"]);
  h.driver.stream("Node").emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync", "status in-sync"]);
  assert.deepEqual(
    h.syncer.report().map(({ kind, status }) => [kind, status]),
    [
      ["IPPool", "in-sync"],
      ["Node", "in-sync"],
    ],
  );
});

test("results that have queued up go out as one batch, a status after the updates before it", async () => {
  const release: (() => void)[] = [];
  const seen: string[] = [];
  const h = harness({
    callbacks: {
      onStatusUpdated: (status) =>
        new Promise<void>((resolve) => {
          seen.push(status);
          release.push(resolve);
        }),
      onUpdates: (updates) => void seen.push(updates.map(nameOf).join(",")),
    },
  });
  const items = Array.from({ length: 30 }, (_, i) => item(`i${i}`, String(i + 1)));
  h.driver.lists.set(KIND, [{ pages: [items], revision: "50" }]);
  h.syncer.start();
  await h.advance(0);
  assert.deepEqual(seen, ["wait-for-ready"]);
  release[0]?.();
  await h.advance(0);
  release[1]?.();
  await h.advance(0);
  assert.deepEqual(seen.slice(1), ["resync", items.map(({ name }) => name).join(","), "in-sync"]);
});

test("a slow consumer holds up the list", async () => {
  let release: (() => void) | undefined;
  const h = harness({
    callbacks: {
      onStatusUpdated: () => undefined,
      onUpdates: () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    },
  });
  const pages = Array.from({ length: 10 }, (_, p) =>
    Array.from({ length: 500 }, (_, i) => item(`p${p}-${i}`, `${p}.${i}`)),
  );
  h.driver.lists.set(KIND, [{ pages, revision: "50" }]);
  h.syncer.start();
  await h.advance(0);
  // One batch of at most 1,001 results is with the consumer, 2,000 wait.
  assert.ok((h.syncer.report()[0]?.keys ?? 0) <= 3002);
  for (let i = 0; i < 10 && release !== undefined; i++) {
    release();
    await h.advance(0);
  }
  assert.equal(h.syncer.report()[0]?.keys, 5000);
});

test("upstreamAgeMs() is the time since the last answer; silence is asked about", async () => {
  const h = await watching();
  await h.advance(29_999);
  assert.equal(h.syncer.upstreamAgeMs(), 29_999);
  h.driver.probeError = "DATASTORE_FAILED";
  await h.advance(1);
  assert.deepEqual([h.driver.probes, h.syncer.upstreamAgeMs()], [1, 30_000]);
  await h.advance(10_000);
  assert.deepEqual([h.driver.probes, h.syncer.upstreamAgeMs()], [2, 40_000]);
  h.driver.probeError = undefined;
  await h.advance(10_000);
  assert.deepEqual([h.driver.probes, h.syncer.upstreamAgeMs()], [3, 0]);
  h.stream.emit({ type: "bookmark", revision: "11" });
  await h.advance(29_000);
  assert.equal(h.driver.probes, 3);
  await h.advance(1000);
  assert.equal(h.driver.probes, 4);
});

test("upstreamAgeMs() counts an error of the stream as an answer only where the server must have said it", async () => {
  const h = await watching({ error: "DATASTORE_FAILED" });
  h.driver.watchErrors.set(KIND, ["DATASTORE_FAILED"]);
  await h.advance(1000);
  h.stream.emit(errorEvent("DATASTORE_FAILED"));
  await h.advance(0);
  assert.equal(h.syncer.upstreamAgeMs(), 1000);
  // The watch in its place stands.
  await h.advance(500);
  assert.equal(h.syncer.upstreamAgeMs(), 0);
  await h.advance(100);
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(0);
  assert.equal(h.syncer.upstreamAgeMs(), 0);
});

test("upstreamAgeMs() is undefined until every kind has had an answer", async () => {
  const h = await started({ error: "DATASTORE_FAILED" });
  assert.equal(h.syncer.upstreamAgeMs(), undefined);
});
