import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Update, Value } from "@bulrush/model";
import { decodeServerMessage, frameMessage, framePackedMessage, type KV, KVPacking } from "@bulrush/proto";
import type { Breadcrumb } from "./breadcrumb.ts";
import { SnapshotCache, type SnapshotCacheOptions } from "./snapshot-cache.ts";

/** Few contents, so that many updates change nothing; some in another order, and some that cannot be packed. */
const VALUES: readonly unknown[] = [
  {
    labels: new Map([
      ["a", "1"],
      ["b", "2"],
    ]),
    ports: [{ port: 1 }],
  },
  {
    labels: new Map([
      ["b", "2"],
      ["a", "1"],
    ]),
    ports: [{ port: 1 }],
  },
  {
    labels: new Map([
      ["a", "2"],
      ["b", "1"],
    ]),
    ports: [{ port: 1 }],
  },
  {
    ports: [{ port: 1 }],
    labels: new Map([
      ["a", "1"],
      ["b", "2"],
    ]),
  },
  { labels: undefined, ports: [] },
  { ports: [] },
  { spec: { selector: "a == 'b'" }, metadata: { name: "x", labels: { a: "1" } } },
  { spec: { selector: "a == 'c'" }, metadata: { name: "x", labels: { a: "1" } } },
  { lists: Array.from({ length: 60 }, () => []) },
];
const PATHS = ["/calico/v1/", "/calico/resources/v3/"];

const update = fc.record({
  path: fc.tuple(fc.constantFrom(...PATHS), fc.nat(9)).map(([prefix, i]) => `${prefix}${i}`),
  value: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...VALUES) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  ),
});
const step = fc.oneof(
  { weight: 4, arbitrary: fc.array(update, { maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constant("snapshot" as const) },
);

const options = (): SnapshotCacheOptions => ({
  syncer: "felix",
  epoch: "e",
  nowMs: 0,
  slotsPerChunk: 4,
  maxBatch: 5,
  reuseBytes: 0,
  encodeFrame: frameMessage,
  yieldTurn: () => Promise.resolve(),
});

function decode(frame: Buffer): readonly unknown[] {
  const messages: unknown[] = [];
  for (let at = 0; at < frame.length; ) {
    const short = frame[at + 1] as number;
    const header = short < 126 ? 2 : 4;
    const length = short < 126 ? short : frame.readUInt16BE(at + 2);
    messages.push(decodeServerMessage(frame.subarray(at + header, at + header + length)));
    at += header + length;
  }
  return messages;
}

/** What a client reads of the chain after `crumb`. */
function chain(crumb: Breadcrumb | undefined): readonly unknown[] {
  const frames: unknown[] = [];
  for (let next = crumb?.next; next !== undefined; next = next.next) frames.push(...decode(next.frame));
  return frames;
}

/** What a client reads of a snapshot, whatever its parts. */
async function snapshotOf(cache: SnapshotCache): Promise<unknown> {
  const snapshot = await cache.snapshot();
  const kvs: KV[] = [];
  const rest: unknown[] = [];
  for (const message of snapshot.pieces.flatMap(decode)) {
    if (typeof message === "object" && message !== null && "kvs" in message) kvs.push(...(message.kvs as KV[]));
    else rest.push(message);
  }
  cache.release(snapshot);
  return { kvs: kvs.toSorted((a, b) => (a.path < b.path ? -1 : 1)), rest, count: snapshot.count };
}

test("a cache that packs its KVs tells clients the same as one that does not", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const plain = new SnapshotCache(options());
      const packing = new KVPacking();
      // So often that every shape has an id.
      for (let i = 0; i < 64; i++)
        for (const value of VALUES) packing.pack({ path: "/x", value, revision: "", updateType: "new" });
      const packed = new SnapshotCache({ ...options(), packed: { packing, encode: framePackedMessage } });
      const starts = [plain.head, packed.head];
      let revision = 0;
      for (const each of steps) {
        if (each === "snapshot") {
          assert.deepEqual(await snapshotOf(packed), await snapshotOf(plain));
          continue;
        }
        const updates = each.map(
          ({ path, value }): Update => ({
            key: { type: "GlobalConfig", name: path } as Update["key"],
            path,
            value: value as Value | undefined,
            revision: String(++revision),
            type: "updated",
          }),
        );
        const results = [plain, packed].map((cache) => cache.publish({ updates, nowMs: revision }));
        assert.equal(results[1]?.skipped, results[0]?.skipped);
      }
      assert.deepEqual(chain(starts[1]), chain(starts[0]));
      assert.deepEqual(await snapshotOf(packed), await snapshotOf(plain));
      const { sequence } = plain.head;
      for (const at of [sequence, Math.max(0, sequence - 2), 0]) {
        const sorted = (cache: SnapshotCache): readonly (string | undefined)[] =>
          (cache.kvsAt(at) ?? []).map((kv) => `${kv.path}@${kv.revision}`).toSorted();
        assert.deepEqual(sorted(packed), sorted(plain));
      }
    }),
    { numRuns: 150 },
  );
});

test("a snapshot of packed KVs is of its sequence, whatever changes while it is made", async () => {
  const packing = new KVPacking();
  const value = (i: number): Value => ({ text: `${i}` }) as unknown as Value;
  const updates = (i: number): Update[] =>
    Array.from({ length: 10 }, (_, j) => ({
      key: { type: "GlobalConfig", name: `${j}` } as Update["key"],
      path: `/calico/v1/${j}`,
      value: value(i),
      revision: "1",
      type: "updated",
    }));
  let turns = 0;
  const cache: SnapshotCache = new SnapshotCache({
    ...options(),
    packed: { packing, encode: framePackedMessage },
    yieldTurn: () => {
      cache.publish({ updates: updates(1000 + ++turns), nowMs: 1 });
      return Promise.resolve();
    },
  });
  for (let i = 0; i < 40; i++) cache.publish({ updates: updates(i), nowMs: 1 });
  const { kvs } = (await snapshotOf(cache)) as { readonly kvs: readonly KV[] };
  assert.ok(turns > 0);
  assert.deepEqual(
    kvs.map((kv) => kv.value),
    Array.from({ length: 10 }, () => value(39)),
  );
});

test("a value that is too large with the definitions of its records alone is left out, and named", async () => {
  const packing = new KVPacking();
  const left: (readonly [path: string, reason: string])[] = [];
  const cache = new SnapshotCache({
    ...options(),
    packed: { packing, encode: framePackedMessage },
    onUnsendable: (path, reason) => left.push([path, reason]),
  });
  // The name is in the definition alone: a packed value has an id in its place.
  const name = "n".repeat(200);
  const publish = (paths: readonly string[], length: number): readonly Breadcrumb[] =>
    cache.publish({
      updates: paths.map((path) => ({
        key: { type: "GlobalConfig", name: path } as Update["key"],
        path,
        value: { [name]: "x".repeat(length) } as unknown as Value,
        revision: "1",
        type: "updated",
      })),
      nowMs: 1,
    }).crumbs;
  for (let i = 0; i < 40; i++) publish(["/calico/v1/a", "/calico/v1/b"], i);
  const max = 16 * 1024 * 1024;
  assert.equal(publish(["/calico/v1/a"], max - 1000).length, 1);
  assert.equal(left.length, 0);
  for (const length of [max - 150, max - 20, max + 1]) {
    const { sequence } = cache.head;
    assert.deepEqual(publish(["/calico/v1/b", "/calico/v1/new"], length), []);
    assert.equal(cache.head.sequence, sequence);
    assert.deepEqual(
      left.splice(0).map(([path]) => path),
      ["/calico/v1/b", "/calico/v1/new"],
    );
  }
  const lengths = ["a", "b", "new"].map(
    (path) => (cache.get(`/calico/v1/${path}`)?.value as Record<string, string> | undefined)?.[name]?.length,
  );
  assert.deepEqual(lengths, [max - 1000, 39, undefined]);
  const { count, bytes } = await cache.snapshot();
  assert.ok(count === 2 && bytes > max - 1000);
});

test("a snapshot of large values, many times what a body may hold, comes in frames that clients take", async () => {
  const packing = new KVPacking();
  const compressed = { compressFromBytes: 1024 };
  const cache = new SnapshotCache({
    ...options(),
    slotsPerChunk: 512,
    retainBytes: 0,
    encodeFrame: (message) => frameMessage(message, compressed),
    packed: { packing, encode: (message) => framePackedMessage(message, compressed) },
  });
  const large = "x".repeat(1_000_000);
  for (let i = 0; i < 64; i++)
    cache.publish({
      updates: [
        {
          key: { type: "GlobalConfig", name: `${i}` } as Update["key"],
          path: `/calico/v1/${i}`,
          value: `${large}${i}` as unknown as Value,
          revision: "1",
          type: "updated",
        },
      ],
      nowMs: 1,
    });
  const { kvs, count } = (await snapshotOf(cache)) as { readonly kvs: readonly KV[]; readonly count: number };
  assert.equal(count, 64);
  assert.deepEqual(
    new Map(kvs.map(({ path, value }) => [path, (value as string).slice(large.length)])),
    new Map(Array.from({ length: 64 }, (_, i) => [`/calico/v1/${i}`, `${i}`])),
  );
});

test("a chunk of packed KVs and others is encoded without making objects of the packed ones", async () => {
  const packing = new KVPacking();
  const asObjects: string[][] = [];
  const cache = new SnapshotCache({
    ...options(),
    slotsPerChunk: 64,
    encodeFrame: (message) => {
      if (message.type === "snapshot") asObjects.push(message.kvs.map(({ path }) => path));
      return frameMessage(message);
    },
    packed: { packing, encode: framePackedMessage },
  });
  const publish = (name: string, value: unknown): unknown =>
    cache.publish({
      updates: [
        {
          key: { type: "GlobalConfig", name } as Update["key"],
          path: `/calico/v1/${name}`,
          value: value as Value,
          revision: "1",
          type: "updated",
        },
      ],
      nowMs: 1,
    });
  for (let i = 0; i < 40; i++) publish(`${i}`, `text ${i}`);
  publish("odd", { field: undefined });
  publish("rare", { rare: 1 });
  for (let i = 40; i < 50; i++) publish(`${i}`, `text ${i}`);
  const { kvs } = (await snapshotOf(cache)) as { readonly kvs: readonly KV[] };
  assert.equal(kvs.length, 52);
  assert.deepEqual(asObjects, [["/calico/v1/odd", "/calico/v1/rare"]]);
  publish("odd", "text");
  publish("rare", undefined);
  const { kvs: later } = (await snapshotOf(cache)) as { readonly kvs: readonly KV[] };
  assert.equal(later.length, 51);
  assert.equal(asObjects.length, 1);
});
