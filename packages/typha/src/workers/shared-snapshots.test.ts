import assert from "node:assert/strict";
import { test } from "node:test";
import { Breadcrumb } from "../cache/breadcrumb.ts";
import type { Snapshot } from "../cache/snapshot.ts";
import { SharedSnapshots } from "./shared-snapshots.ts";

function snapshotOf(pieces: readonly Buffer[]): Snapshot {
  const crumb = new Breadcrumb({
    sequence: 7,
    timestampMs: 0,
    seenAtMs: 0,
    status: "in-sync",
    kvCount: 1,
    frame: Buffer.alloc(0),
    endByte: 0,
  });
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  return { crumb, pieces, count: 3, bytes, isPart: false };
}

test("SharedSnapshots copies a snapshot once for all who ask", async () => {
  const snapshots = new SharedSnapshots(() => Promise.resolve());
  const snapshot = snapshotOf([Buffer.from("ab"), Buffer.from("cde")]);
  const [one, other] = await Promise.all([snapshots.share(snapshot), snapshots.share(snapshot)]);
  assert.equal(one, other);
  assert.deepEqual([one.sequence, one.count, one.ends], [7, 3, [2, 5]]);
  assert.equal(Buffer.from(one.memory).toString(), "abcde");
  assert.notEqual((await snapshots.share(snapshotOf([]))).id, one.id);
});

test("SharedSnapshots tries again after a copy that failed", async () => {
  let fails = true;
  const snapshots = new SharedSnapshots(() => (fails ? Promise.reject(new Error("no memory")) : Promise.resolve()));
  // So large that it takes a turn.
  const snapshot = snapshotOf([Buffer.alloc(5_000_000, 1), Buffer.from("end")]);
  const asked = [snapshots.share(snapshot), snapshots.share(snapshot)];
  for (const each of asked) await assert.rejects(each, /no memory/);
  fails = false;
  const { memory, ends } = await snapshots.share(snapshot);
  assert.deepEqual(ends, [5_000_000, 5_000_003]);
  assert.equal(Buffer.from(memory).toString("latin1", 5_000_000), "end");
});
