import assert from "node:assert/strict";
import { test } from "node:test";
import { sharedBytes } from "../cache/shared-bytes.ts";
import type { Snapshot } from "../cache/snapshot.ts";
import { openingFor } from "../server/opening.ts";
import { testHello } from "../testing/websocket-client.ts";
import type { SharedCrumb, SharedDifference, SharedSnapshot } from "./messages.ts";
import { MirrorCache } from "./mirror-cache.ts";

function crumb(sequence: number): SharedCrumb {
  const frame = sharedBytes(Buffer.from(`frame ${sequence}`));
  return {
    sequence,
    timestampMs: sequence,
    seenAtMs: sequence,
    status: "in-sync",
    kvCount: 1,
    endByte: sequence * 100,
    frame,
  };
}

function snapshot(id: number, sequence: number): SharedSnapshot {
  const pieces = [`snapshot ${id}`, "end"].map((text) => Buffer.from(text));
  const memory = new SharedArrayBuffer(Buffer.concat(pieces).length);
  Buffer.from(memory).set(Buffer.concat(pieces));
  const [first = Buffer.alloc(0)] = pieces;
  return { id, sequence, memory, ends: [first.length, memory.byteLength], count: 1, isPart: false };
}

interface Scene {
  readonly mirror: MirrorCache;
  /** Answers to come, in order, for whole snapshots. */
  readonly snapshots: PromiseWithResolvers<SharedSnapshot>[];
  /** Of each question for one, whether it must be the newest. */
  readonly newest: boolean[];
  readonly released: (readonly [id: number, answers: number])[];
  readonly take: (sequences: readonly number[], oldest?: number) => void;
}

/** At sequence 10, of a cache at `head`. */
function scene(
  head: number = 10,
  askDifference: () => Promise<SharedDifference | undefined> = () => Promise.resolve(undefined),
): Scene {
  const snapshots: PromiseWithResolvers<SharedSnapshot>[] = [];
  const newest: boolean[] = [];
  const released: (readonly [number, number])[] = [];
  const mirror = new MirrorCache({
    syncer: "felix",
    epoch: "e",
    first: crumb(10),
    wasInSync: true,
    askSnapshot: (isNewest) => {
      newest.push(isNewest);
      const answer = Promise.withResolvers<SharedSnapshot>();
      snapshots.push(answer);
      return answer.promise;
    },
    askDifference,
    askHead: () => Promise.resolve(head),
    release: (id, answers) => released.push([id, answers]),
  });
  const take = (sequences: readonly number[], oldest: number = 10): void =>
    mirror.take(sequences.map(crumb), oldest, true);
  return { mirror, snapshots, newest, released, take };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

const text = (of: Snapshot): string => of.pieces.map((piece) => piece.toString()).join("|");

test("MirrorCache: the chain is that of the cache, and as long", () => {
  const { mirror, take } = scene();
  const heads: number[] = [];
  const first = mirror.head;
  mirror.onPublish((head) => heads.push(head.sequence));
  take([11, 12]);
  take([13], 12);
  assert.deepEqual(heads, [12, 13]);
  assert.equal(first.next?.frame.toString(), "frame 11");
  assert.equal(first.next?.next?.next, mirror.head);
  assert.deepEqual(
    [9, 10, 11, 12, 13, 14].map((sequence) => mirror.at(sequence)?.sequence),
    [undefined, undefined, undefined, 12, 13, undefined],
  );
  assert.throws(() => take([15]), { name: "AssertionError" });
});

test("MirrorCache: a snapshot that is ahead of the chain comes when the chain has its breadcrumb", async () => {
  const { mirror, snapshots, take } = scene();
  const got: Snapshot[] = [];
  void mirror.snapshot().then((one) => got.push(one));
  snapshots[0]?.resolve(snapshot(1, 12));
  await settle();
  assert.equal(got.length, 0);
  take([11]);
  await settle();
  assert.equal(got.length, 0);
  take([12, 13], 13);
  await settle();
  assert.equal(got[0]?.crumb.next, mirror.head);
  assert.deepEqual(got.map(text), ["snapshot 1|end"]);
});

test("MirrorCache: who needs the newest does not share an answer to a question from before", async () => {
  const { mirror, snapshots, newest, released } = scene();
  const before = mirror.snapshot();
  const after = [mirror.snapshot(true), mirror.snapshot(true)];
  assert.deepEqual(newest, [false, true, true]);
  snapshots[0]?.resolve(snapshot(1, 10));
  snapshots[1]?.resolve(snapshot(2, 10));
  snapshots[2]?.resolve(snapshot(2, 10));
  assert.equal(text(await before), "snapshot 1|end");
  const [first, second] = await Promise.all(after);
  assert.ok(first !== undefined && second !== undefined);
  assert.deepEqual([text(first), text(second)], ["snapshot 2|end", "snapshot 2|end"]);
  mirror.release(first);
  mirror.release(second);
  mirror.release(await before);
  assert.deepEqual(
    released.toSorted(([a], [b]) => a - b),
    [
      [1, 1],
      [2, 2],
    ],
  );
});

test("MirrorCache: those who ask meanwhile share an answer, which is given back by the last", async () => {
  const { mirror, snapshots, released } = scene();
  const asked = [mirror.snapshot(), mirror.snapshot()];
  await settle();
  assert.equal(snapshots.length, 1);
  snapshots[0]?.resolve(snapshot(1, 10));
  const [a, b] = await Promise.all(asked);
  const again = mirror.snapshot();
  snapshots[1]?.resolve(snapshot(1, 10));
  const c = await again;
  assert.equal(a, b);
  assert.equal(a, c);
  for (const each of [a, b]) mirror.release(each as Snapshot);
  assert.deepEqual(released, []);
  mirror.release(c);
  assert.deepEqual(released, [[1, 2]]);
  mirror.release(c);
  assert.deepEqual(released, [[1, 2]], "once too often changes nothing");
});

test("MirrorCache asks again where a snapshot's breadcrumb was dropped before it was asked for", async () => {
  const { mirror, snapshots, released, take } = scene();
  take([11, 12], 12);
  const asked = mirror.snapshot();
  snapshots[0]?.resolve(snapshot(1, 10));
  await settle();
  // While it asks nothing is dropped.
  take([13, 14], 14);
  snapshots[1]?.resolve(snapshot(2, 12));
  const got = await asked;
  assert.equal(got.crumb.sequence, 12);
  assert.equal(got.crumb.next?.sequence, 13);
  assert.deepEqual(released, [[1, 1]]);
});

test("MirrorCache drops what no open question needs, though some question is always open", async () => {
  const differences: PromiseWithResolvers<SharedDifference | undefined>[] = [];
  const { mirror, snapshots, released, take } = scene(10, () => {
    const answer = Promise.withResolvers<SharedDifference | undefined>();
    differences.push(answer);
    return answer.promise;
  });
  const first = mirror.difference("");
  take([11, 12, 13], 13);
  const second = mirror.difference("");
  take([14, 15], 15);
  // What it may be answered with is still there.
  differences[0]?.resolve({ buckets: [1], snapshot: snapshot(1, 11) });
  assert.equal((await first)?.snapshot.crumb.sequence, 11);
  await settle();
  // The second is open and keeps 13 and 14, but not what was kept for the first alone.
  const third = mirror.snapshot();
  snapshots[0]?.resolve(snapshot(2, 12));
  await settle();
  assert.deepEqual(released, [[2, 1]], "12 is gone");
  snapshots[1]?.resolve(snapshot(3, 14));
  assert.equal((await third).crumb.sequence, 14);
  take([16], 16);
  differences[1]?.resolve({ buckets: [1], snapshot: snapshot(4, 13) });
  assert.equal((await second)?.snapshot.crumb.sequence, 13);
});

test("MirrorCache: a question keeps what may be its answer, also while the chain is behind what the cache retains", async () => {
  const { mirror, snapshots, take } = scene();
  // So many at a time that the cache has dropped them before they come.
  take([11, 12], 20);
  const asked = mirror.snapshot();
  snapshots[0]?.resolve(snapshot(1, 14));
  await settle();
  take([13, 14, 15], 25);
  assert.equal((await asked).crumb.next, mirror.head);
});

test("MirrorCache: a failure reaches all who asked, and the next one asks anew", async () => {
  const { mirror, snapshots } = scene();
  const asked = [mirror.snapshot(), mirror.snapshot()];
  await settle();
  snapshots[0]?.reject(new Error("no memory"));
  for (const each of asked) await assert.rejects(each, /no memory/);
  const again = mirror.snapshot();
  snapshots[1]?.resolve(snapshot(1, 10));
  assert.equal((await again).crumb.sequence, 10);
});

test("MirrorCache.difference() gives the buckets with their part, or nothing", async () => {
  const { mirror, released } = scene(10, () =>
    Promise.resolve({ buckets: [3], snapshot: { ...snapshot(7, 10), isPart: true } }),
  );
  const difference = await mirror.difference("");
  assert.deepEqual([difference?.buckets, difference?.snapshot.isPart], [[3], true]);
  if (difference !== undefined) mirror.release(difference.snapshot);
  assert.deepEqual(released, [[7, 1]]);
  assert.equal(await scene().mirror.difference(""), undefined);
});

test("a client that is ahead of a mirror resumes once the mirror has come so far", async () => {
  const { mirror, take } = scene(12);
  const hello = { ...testHello("node-1"), resume: { epoch: "e", sequence: 12 } };
  const opening = openingFor(hello, mirror);
  await settle();
  take([11, 12, 13]);
  assert.deepEqual([(await opening).resume, (await opening).crumb.sequence], ["deltas", 12]);
});

test("a client that is ahead of the cache itself starts anew", async () => {
  const { mirror, snapshots } = scene(12);
  const opening = openingFor({ ...testHello("node-1"), resume: { epoch: "e", sequence: 99 } }, mirror);
  await settle();
  snapshots[0]?.resolve(snapshot(1, 10));
  assert.equal((await opening).resume, "snapshot");
});
