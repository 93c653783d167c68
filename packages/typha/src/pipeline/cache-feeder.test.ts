import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import { encodeText } from "../testing/text-frames.ts";
import { settingUpdate } from "../testing/updates.ts";
import { CacheFeeder } from "./cache-feeder.ts";

function feeder(maxBatch: number = 100): {
  readonly clock: ManualClock;
  readonly cache: SnapshotCache;
  readonly feeder: CacheFeeder;
  readonly frames: () => string[];
  turns: number;
} {
  const clock = new ManualClock(5000);
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: 0,
    maxBatch,
    encodeFrame: encodeText,
    yieldTurn: () => Promise.resolve(),
  });
  const counted = {
    clock,
    cache,
    turns: 0,
    feeder: new CacheFeeder({
      cache,
      clock,
      maxBatch,
      yieldTurn: () => {
        counted.turns++;
        return Promise.resolve();
      },
    }),
    frames: (): string[] => {
      const list: string[] = [];
      for (let crumb = cache.at(0)?.next; crumb !== undefined; crumb = crumb.next)
        list.push(crumb.frame.toString().trim());
      return list;
    },
  };
  return counted;
}

test("CacheFeeder publishes at once while the server is idle", () => {
  const { feeder: it, frames, clock } = feeder();
  assert.equal(it.onUpdates([settingUpdate("a=1@1")]), undefined);
  it.onStatusUpdated("in-sync");
  assert.deepEqual(frames(), ['delta 0 to 1: new:a="1"@1', "delta 1 to 2: no KVs\nstatus in-sync at 2"]);
  assert.equal(clock.pending, 0);
});

test("CacheFeeder gathers in a window under load, the status after its KVs", async () => {
  const { feeder: it, frames, clock, cache } = feeder();
  it.onUpdates([settingUpdate("a=1@1")]);
  it.onFanOut(9);
  await clock.advance(5);
  const before = cache.head.sequence;
  it.onUpdates([settingUpdate("b=1@1")]);
  it.onStatusUpdated("resync");
  it.onUpdates([settingUpdate("c=1@1")]);
  it.onStatusUpdated("in-sync");
  await clock.advance(3);
  assert.equal(cache.head.sequence, before, "the last fan-out is not over: 9 ms");
  await clock.advance(1);
  assert.deepEqual(frames().slice(before), [
    `delta ${before} to ${before + 1}: new:b="1"@1 new:c="1"@1\nstatus in-sync at ${before + 1}`,
  ]);
});

test("CacheFeeder's window has a pause once changes come close together", async () => {
  const { feeder: it, clock } = feeder();
  it.onUpdates([settingUpdate("a=0@1")]);
  it.onFanOut(10);
  assert.equal(it.windowMs, 10);
  for (let i = 1; i <= 50; i++) {
    it.onUpdates([settingUpdate(`a=${i}@${i}`)]);
    await clock.advance(1);
  }
  assert.equal(it.windowMs, 16);
});

test("CacheFeeder does not wait for the window when a batch is full", async () => {
  const { feeder: it, cache } = feeder(3);
  it.onUpdates([settingUpdate("a=1@1")]);
  it.onFanOut(9);
  const before = cache.head.sequence;
  it.onUpdates([settingUpdate("x=1@1")]);
  it.onUpdates([settingUpdate("y=1@1"), settingUpdate("z=1@1")]);
  assert.equal(cache.head.sequence, before + 1);
});

test("CacheFeeder takes a long list in pieces, and the source waits for it", async () => {
  const { feeder: it, cache } = feeder(2);
  const counted = feeder(2);
  const updates = Array.from({ length: 25 }, (_, i) => settingUpdate(`k${i}=1@1`));
  const taken = counted.feeder.onUpdates(updates);
  assert.ok(taken instanceof Promise);
  await taken;
  assert.equal(counted.cache.size, 25);
  assert.equal(counted.turns, 3);
  assert.ok(it.onUpdates(updates.slice(0, 2)) instanceof Promise, "a full batch gives everybody a turn");
  assert.equal(cache.size, 2);
});
