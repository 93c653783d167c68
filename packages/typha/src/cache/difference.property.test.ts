import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { must } from "@bulrush/base";
import { BucketDigests, bucketOf, hashValue, type KV, type ServerMessage } from "@bulrush/proto";
import type { Update, Value } from "@bulrush/model";
import { SnapshotCache } from "./snapshot-cache.ts";

/** Any key of a small set with any value of a few, or its delete. */
const CHANGE = fc.record({ key: fc.nat(40), value: fc.option(fc.nat(2), { nil: undefined }) });
const CHANGES = fc.array(CHANGE, { maxLength: 8 });
type Changes = readonly { readonly key: number; readonly value: number | undefined }[];

const update = ({ key, value }: Changes[number]): Update => ({
  key: { type: "GlobalConfig", name: `k${key}` },
  path: `k${key}`,
  revision: "1",
  value: value === undefined ? undefined : (`v${value}` as Value),
  type: value === undefined ? "deleted" : "new",
});

function toMap(kvs: readonly KV[]): Map<string, unknown> {
  return new Map(kvs.map(({ path, value }) => [path, value]));
}

/** A cache whose turns are taken by hand, with the messages that its frames stand for. */
class World {
  readonly messages: ServerMessage[] = [];
  readonly turns: (() => void)[] = [];
  readonly cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: 0,
    slotsPerChunk: 4,
    encodeFrame: (message) => {
      const frame = Buffer.alloc(4);
      frame.writeUInt32BE(this.messages.push(message) - 1);
      return frame;
    },
    yieldTurn: () => new Promise((resolve) => this.turns.push(resolve)),
  });

  /** What stands in these pieces: a frame has four bytes. */
  read(pieces: readonly Buffer[]): ServerMessage[] {
    const bytes = Buffer.concat(pieces);
    return Array.from({ length: bytes.length / 4 }, (_, i) =>
      must(this.messages[bytes.readUInt32BE(4 * i)], "the message of a frame"),
    );
  }

  async turn(): Promise<void> {
    for (const next of this.turns.splice(0)) next();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("difference() brings a client with anything to the state of one breadcrumb, whatever is published meanwhile", async () => {
  await fc.assert(
    fc.asyncProperty(
      CHANGES,
      fc.array(CHANGES, { maxLength: 4 }),
      fc.array(CHANGES, { maxLength: 4 }),
      fc.integer({ min: 0, max: 10 }),
      fc.boolean(),
      async (clientHolds, before, meanwhile, bits, askedBefore) => {
        const world = new World();
        const { cache } = world;
        const held = new Map<string, unknown>();
        for (const { path, value } of clientHolds.map(update)) if (value !== undefined) held.set(path, value);
        const count = 2 ** bits;
        const digests = new BucketDigests(count);
        for (const [path, value] of held) digests.add(path, hashValue(path, value));
        const ask = async (): Promise<void> => {
          const wanted = new Map(held);
          const difference = cache.difference(digests.encode());
          let isDone = false;
          void difference.then(() => (isDone = true));
          for (const changes of meanwhile) {
            await world.turn();
            cache.publish({ updates: changes.map(update), nowMs: 2 });
          }
          while (!isDone) await world.turn();
          const answer = await difference;
          assert.ok(answer !== undefined, "so few keys are never sent as a whole");
          const { buckets, snapshot } = answer;
          const sent = world
            .read(snapshot.pieces)
            .flatMap((message) => (message.type === "snapshot" ? message.kvs : []));
          assert.ok(sent.every(({ path }) => buckets.includes(bucketOf(path, count))));
          assert.equal(snapshot.count, sent.length);
          for (const path of wanted.keys()) if (buckets.includes(bucketOf(path, count))) wanted.delete(path);
          for (const { path, value } of sent) wanted.set(path, value);
          assert.deepEqual(wanted, toMap(cache.kvsAt(snapshot.crumb.sequence) ?? []));
          cache.release(snapshot);
        };
        if (askedBefore) await ask();
        for (const changes of before) cache.publish({ updates: changes.map(update), nowMs: 1 });
        await ask();
      },
    ),
    { numRuns: 200 },
  );
});

test("difference() of equal contents is nothing, and one head's readers share their part", async () => {
  const world = new World();
  const keys = Array.from({ length: 2000 }, (_, key) => ({ key, value: 1 }));
  world.cache.publish({ updates: keys.map(update), nowMs: 1 });
  const digests = new BucketDigests();
  for (const { path, value } of keys.map(update)) digests.add(path, hashValue(path, value));
  const settle = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false;
    void promise.then(() => (isDone = true));
    while (!isDone) await world.turn();
    return promise;
  };
  const same = await settle(world.cache.difference(digests.encode()));
  assert.deepEqual([same?.buckets, same?.snapshot.count], [[], 0]);

  world.cache.publish({ updates: [update({ key: 7, value: 2 }), update({ key: 8, value: undefined })], nowMs: 2 });
  const [a, b] = await Promise.all([
    settle(world.cache.difference(digests.encode())),
    settle(world.cache.difference(digests.encode())),
  ]);
  const wanted = [bucketOf("k7", 1024), bucketOf("k8", 1024)].toSorted((x, y) => x - y);
  assert.deepEqual(a?.buckets, wanted);
  assert.equal(a?.snapshot, b?.snapshot);
});

test("difference() leaves a client that lacks much to the whole snapshot", async () => {
  const world = new World();
  const updates = Array.from({ length: 1000 }, (_, key) => update({ key, value: 1 }));
  world.cache.publish({ updates, nowMs: 1 });
  const answer = world.cache.difference(new BucketDigests(1).encode());
  for (let i = 0; i < 10; i++) await world.turn();
  assert.equal(await answer, undefined);
});
