import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedQueue } from "@bulrush/base";
import type { SyncStatus, Update } from "@bulrush/model";
import { Aggregator } from "./aggregator.ts";
import { type Result, RESULTS_QUEUE_CAPACITY } from "./result.ts";

function update(name: string): Update {
  const path = `/calico/v1/config/${name}`;
  return { key: { type: "GlobalConfig", name }, path, value: "v", revision: "1", type: "new" };
}

/** What the callbacks get of these results, which are all there before the first is taken; batches as their sizes. */
async function aggregated(caches: number, results: readonly Result[]): Promise<(SyncStatus | number)[]> {
  const out: (SyncStatus | number)[] = [];
  const queue = new BoundedQueue<Result>(RESULTS_QUEUE_CAPACITY);
  const ends = Array.from({ length: caches }, (): Result => ({ type: "end" }));
  for (const result of [...results, ...ends]) queue.push(result);
  const aggregator = new Aggregator(caches, queue, {
    onStatusUpdated: (status) => void out.push(status),
    onUpdates: (updates) => void out.push(updates.length),
  });
  await aggregator.run();
  assert.equal(
    aggregator.status,
    out.findLast((entry) => typeof entry === "string"),
  );
  return out;
}

const status = (cache: number, of: SyncStatus): Result => ({ type: "status", cache, status: of });
const updates = (...names: string[]): Result => ({ type: "updates", updates: names.map(update) });

const ROWS: readonly [title: string, caches: number, results: readonly Result[], out: (SyncStatus | number)[]][] = [
  ["nothing to follow is never in sync", 0, [], ["wait-for-ready"]],
  ["the first status is told without a result", 1, [], ["wait-for-ready"]],
  [
    "all in sync is in sync, all waiting is waiting, anything else is resync",
    2,
    [
      status(0, "resync"),
      status(0, "in-sync"),
      status(1, "in-sync"),
      status(1, "wait-for-ready"),
      status(0, "wait-for-ready"),
      status(0, "in-sync"),
      status(1, "in-sync"),
    ],
    ["wait-for-ready", "resync", "in-sync", "resync", "wait-for-ready", "resync", "in-sync"],
  ],
  [
    "a status that changes nothing does not part what is before and after it",
    2,
    [status(0, "resync"), updates("a"), status(1, "resync"), updates("b", "c")],
    ["wait-for-ready", "resync", 3],
  ],
  [
    "a status comes after the updates before it",
    1,
    [status(0, "resync"), updates("a", "b"), status(0, "in-sync"), updates("c")],
    ["wait-for-ready", "resync", 2, "in-sync", 1],
  ],
  [
    "a batch is the first result and at most 1,000 more",
    1,
    [status(0, "resync"), ...Array.from({ length: 1500 }, (_, i) => updates(`n${i}`))],
    // The status was the first of its batch.
    ["wait-for-ready", "resync", 1000, 500],
  ],
];
for (const [title, caches, results, out] of ROWS) {
  test(`Aggregator: ${title}`, async () => {
    assert.deepEqual(await aggregated(caches, results), out);
  });
}
