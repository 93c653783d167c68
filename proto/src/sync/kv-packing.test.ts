import assert from "node:assert/strict";
import { test } from "node:test";
import { sameValue } from "@bulrush/model";
import fc from "fast-check";
import { catchProto } from "./catch-proto.ts";
import { decodeServerMessage, encodeMessage, framePackedMessage } from "./codec.ts";
import { KVPacking, type PackedKV } from "./kv-packing.ts";
import type { KV } from "./message.ts";

const leaf = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constantFrom("ü", "\ud800", "x".repeat(40)),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, undefined),
);
/** Objects whose fields come in more than one order, Maps too, and names that readers change. */
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("any"), { maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom("a", "b", "spec"), tie("any")), {
        selector: ([name]) => name,
        maxLength: 3,
      })
      .map((entries) => Object.fromEntries(entries)),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom("a", "b", "__proto__"), tie("any")), { selector: ([name]) => name })
      .map((entries) => new Map(entries)),
    fc.constant(JSON.parse('{"__proto__": 1}') as unknown),
  ),
})).any;
const path = fc.constantFrom("/calico/v1/x", "/calico/resources/v3/p");
const kv: fc.Arbitrary<KV> = fc.record({
  path,
  value: value.map((each) => ({ spec: each, metadata: { labels: { a: "1" } } })),
  revision: fc.string({ maxLength: 4 }),
  updateType: fc.constantFrom("new" as const, "updated" as const),
});

/** A packing that has seen these values often enough. */
function packingOf(kvs: readonly KV[]): KVPacking {
  const packing = new KVPacking();
  for (let i = 0; i < 64; i++) for (const each of kvs) packing.pack(each);
  return packing;
}

/** What a packing gave, for longer than until its next call. */
function kept({ packed, packing }: { packed: PackedKV; packing: KVPacking }): PackedKV {
  const copy = Buffer.from(packed.source.subarray(packed.start, packed.end));
  const again = packing.list();
  assert.ok(again.add(packed));
  return Object.assign(Object.create(Object.getPrototypeOf(packed) as object), packed, {
    source: copy,
    start: 0,
    end: copy.length,
  }) as PackedKV;
}

/** What a client reads of a KV. */
function read(kvs: readonly KV[]): readonly KV[] {
  const message = decodeServerMessage(encodeMessage({ type: "snapshot", kvs }));
  assert.ok(message.type === "snapshot");
  return message.kvs;
}

test("KVPacking: what was packed is read as what was sent, alone and in a message with others", () => {
  let packedOnes = 0;
  fc.assert(
    fc.property(fc.array(kv, { minLength: 1, maxLength: 6 }), (kvs) => {
      const packing = packingOf(kvs);
      const list = packing.list();
      const sent: KV[] = [];
      for (const each of kvs) {
        const packed = packing.pack(each);
        if (packed === undefined) continue;
        packedOnes++;
        const own = kept({ packed, packing });
        assert.deepEqual([packing.unpack(own)], read([each]));
        assert.ok(list.add(own, each.updateType === "updated"));
        sent.push(each);
      }
      const frame = framePackedMessage({ type: "snapshot", kvs: list.end() });
      const header = (frame[1] as number) < 126 ? 2 : frame[1] === 126 ? 4 : 10;
      assert.deepEqual(decodeServerMessage(frame.subarray(header)), { type: "snapshot", kvs: read(sent) });
    }),
    { numRuns: 300 },
  );
  assert.ok(packedOnes > 100, "most can be packed");
});

test("KVPacking.isSameValue() never says other than sameValue()", () => {
  const seen = { true: 0, false: 0, undefined: 0 };
  fc.assert(
    fc.property(kv, fc.oneof(kv, fc.constant(undefined)), fc.boolean(), (one, second, isTurned) => {
      const other: KV = { ...(second ?? one), path: one.path, revision: "other" };
      const turned: KV = isTurned ? { ...other, value: turnedRound(other.value) } : other;
      const packing = packingOf(isTurned ? [one, turned] : [one, other]);
      const a = packing.pack(one);
      if (a === undefined) return;
      const first = kept({ packed: a, packing });
      const b = packing.pack(turned);
      if (b === undefined) return;
      const is = packing.isSameValue(first, b);
      seen[`${is}`]++;
      if (is !== undefined) assert.equal(is, sameValue(packing.unpack(first).value, packing.unpack(b).value));
    }),
    { numRuns: 500 },
  );
  assert.ok(seen.true > 0 && seen.false > 0 && seen.undefined > 0, JSON.stringify(seen));
});

/** The same content with the fields and entries of every object and Map in the other order. */
function turnedRound(each: unknown): unknown {
  if (Array.isArray(each)) return each.map(turnedRound);
  if (each instanceof Map) return new Map([...each].toReversed().map(([name, one]) => [name, turnedRound(one)]));
  if (typeof each !== "object" || each === null) return each;
  const entries = Object.entries(each).toReversed();
  return Object.fromEntries(entries.map(([name, one]) => [name, turnedRound(one)]));
}

test("KVPacking.pack() leaves rare shapes, undefined fields and many small containers as objects", () => {
  const packing = new KVPacking();
  const each = (value: unknown): KV => ({ path: "/x", value, revision: "", updateType: "new" });
  for (let i = 1; i < 16; i++) assert.equal(packing.pack(each({ a: 1 })), undefined, `asked ${i} times`);
  assert.ok(packing.pack(each({ a: 1 })) !== undefined);
  assert.equal(packing.pack(each({ a: undefined })), undefined);
  assert.equal(packing.pack(each({ a: Array.from({ length: 50 }, () => []) })), undefined);
  for (let i = 0; i < 100; i++) for (let j = 0; j < 20; j++) packing.pack(each({ [`field${i}`]: 1 }));
  assert.equal(packing.pack(each({ field99: 1 })), undefined, "there are 64 ids");
  assert.ok(packing.pack(each({ field1: 1 })) !== undefined);
  assert.ok(packing.pack(each("text")) !== undefined);
});

test("KVPacking refuses what no body could hold, alone or with its definitions", () => {
  const packing = new KVPacking();
  const name = "n".repeat(200);
  const each = (length: number): KV => ({
    path: "/x",
    value: { [name]: "x".repeat(length) },
    revision: "",
    updateType: "new",
  });
  for (let i = 0; i < 20; i++) packing.pack(each(1));
  const max = 16 * 1024 * 1024;
  const packed = packing.pack(each(max - 100));
  assert.ok(packed !== undefined);
  assert.equal(catchProto(() => packing.list().add(packed)).code, "PROTO_TOO_BIG");
  assert.equal(catchProto(() => packing.pack(each(max - 5))).code, "PROTO_TOO_BIG");
  // Many strings, in whatever memory an earlier body left behind.
  const many = { ...each(1), value: Array.from({ length: 5 }, () => "x".repeat(3_900_000)) };
  assert.equal(catchProto(() => packing.pack(many)).code, "PROTO_TOO_BIG");
});
