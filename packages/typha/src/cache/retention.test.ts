import assert from "node:assert/strict";
import { test } from "node:test";
import type { Update, Value } from "@bulrush/model";
import { frameMessage, framePackedMessage, type KV, KVPacking, PackedKV } from "@bulrush/proto";
import { Breadcrumb } from "./breadcrumb.ts";
import { Retention } from "./retention.ts";
import { SnapshotCache } from "./snapshot-cache.ts";

const crumb = (sequence: number): Breadcrumb =>
  new Breadcrumb({
    sequence,
    timestampMs: 0,
    seenAtMs: 0,
    status: "in-sync",
    kvCount: 1,
    frame: Buffer.alloc(0),
    endByte: 0,
  });

test("Retention keeps what a packed KV was, and not the memory that it lay in", () => {
  const retention = new Retention(1e9);
  const slab = Buffer.alloc(100_000, "abcdefghij");
  retention.add(crumb(0), []);
  retention.add(crumb(1), [
    { position: 3, before: new PackedKV(slab, 20, 35, 5, 1, 2, 3) },
    { position: 4, before: undefined },
    { position: 5, before: new PackedKV(slab, 101, 104, 1, 4, 5, 6) },
  ]);
  slab.fill(0);
  const before = retention.before(0);
  const texts = [3, 4, 5].map((position) => {
    const slot = before?.get(position);
    if (!(slot instanceof PackedKV)) return slot;
    assert.equal(slot.source.buffer.byteLength, 18);
    const { tail, low, high, sum } = slot;
    return [slot.source.toString("latin1", slot.start, slot.end), tail, low, high, sum];
  });
  assert.deepEqual(texts, [["abcdefghijabcde", 5, 1, 2, 3], undefined, ["bcd", 1, 4, 5, 6]]);
});

test("Retention counts an old KV as large as it is", () => {
  const text = "x".repeat(200_000);
  const kv = (value: unknown): KV => ({ path: "/x", value, revision: "1", updateType: "new" });
  for (const before of [
    new PackedKV(Buffer.alloc(200_000), 0, 200_000, 5, 0, 0, 0),
    kv(text),
    kv({ a: [{ b: text }] }),
    kv(new Map([["a", text]])),
    kv(Array.from({ length: 2500 }, () => ({ a: "1" }))),
  ]) {
    const retention = new Retention(1_000_000);
    for (let i = 0; i < 20; i++) retention.add(crumb(i), [{ position: 0, before }]);
    assert.ok(retention.bytes >= 200_000 && retention.bytes <= 1_000_000, `${retention.bytes} bytes`);
    assert.ok(retention.count <= 5, `${retention.count} breadcrumbs`);
  }
});

test("Retention counts a value that holds itself, which nobody could be sent", () => {
  const value: unknown[] = [];
  value.push(value);
  const retention = new Retention(1000);
  retention.add(crumb(0), [{ position: 0, before: { path: "/x", value, revision: "1", updateType: "new" } }]);
  assert.deepEqual([retention.count, retention.bytes > 1000], [1, true]);
});

test("a cache's history is within its budget where one large packed KV changes again and again", () => {
  const packing = new KVPacking();
  // Text that compresses well: what the frames take is not what the old KVs do.
  const options = { compressFromBytes: 1024 };
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: 0,
    retainBytes: 1024 * 1024,
    encodeFrame: (message) => frameMessage(message, options),
    packed: { packing, encode: (message) => framePackedMessage(message, options) },
    yieldTurn: () => Promise.resolve(),
  });
  const publish = (text: string): unknown => {
    const update: Update = {
      key: { type: "GlobalConfig", name: "x" } as Update["key"],
      path: "/calico/v1/x",
      value: { text } as unknown as Value,
      revision: "1",
      type: "updated",
    };
    return cache.publish({ updates: [update], nowMs: 1 });
  };
  for (let i = 0; i < 40; i++) publish(`short ${i}`);
  const text = "a long description ".repeat(5000);
  for (let i = 0; i < 60; i++) publish(`${text}${i}`);
  const { count, bytes } = cache.history;
  assert.ok(bytes <= 1024 * 1024);
  // Each is 95,000 bytes.
  assert.ok(count >= 10 && count <= 11, `${count} breadcrumbs`);
  assert.deepEqual(
    cache.kvsAt(cache.history.oldestSequence)?.map((kv) => (kv.value as { text: string }).text),
    [`${text}${60 - count}`],
  );
});
