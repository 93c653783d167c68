import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BucketDigests, bucketCountFor, bucketCountOf, bucketOf } from "./bucket-digests.ts";
import { hashValue } from "./value-hash.ts";

/** Bytes 1 to 16, and 255 sixteen times. */
const ONE_TO_16 = String.fromCharCode(...Array.from({ length: 16 }, (_, i) => i + 1));
const ALL_255 = "\xff".repeat(16);

/** The documented hash in BigInt, where nothing can be lost. */
function wantedBucket(path: string, count: number): number {
  const mod = 1n << 32n;
  let h = 0x811c9dc5n;
  for (let i = 0; i < path.length; i++) h = ((h ^ BigInt(path.charCodeAt(i))) * 0x01000193n) % mod;
  h ^= h >> 16n;
  h = (h * 0x85ebca6bn) % mod;
  h ^= h >> 13n;
  h = (h * 0xc2b2ae35n) % mod;
  h ^= h >> 16n;
  return Number(h >> BigInt(32 - Math.log2(count)));
}

test("bucketOf() takes the first bits of the documented hash", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 10 }), (path, bits) => {
      assert.equal(bucketOf(path, 2 ** bits), wantedBucket(path, 2 ** bits));
    }),
  );
});

test("bucketOf() spreads paths that differ in their last characters alone", () => {
  const used = new Set<number>();
  for (let i = 0; i < 8192; i++) used.add(bucketOf(`/calico/v1/netset/n-${i}`, 1024));
  // Of 8192 balls in 1024 bins, chance leaves 0.3 empty on average.
  assert.ok(used.size > 1010, `${used.size} buckets`);
});

test("bucketCountFor() aims at 8 keys a bucket, up to 1,024 buckets", () => {
  const wanted: readonly (readonly [number, number])[] = [
    [0, 1],
    [8, 1],
    [9, 2],
    [100, 16],
    [8192, 1024],
    [1_000_000, 1024],
  ];
  for (const [keys, count] of wanted) assert.equal(bucketCountFor(keys), count, `${keys} keys`);
});

test("encode() gives sums of 32-bit words, little endian, each for itself", () => {
  const digests = new BucketDigests(1);
  assert.equal(digests.encode(), Buffer.alloc(16).toString("base64"));
  digests.add("/a", ONE_TO_16);
  assert.equal(Buffer.from(digests.encode(), "base64").toString("latin1"), ONE_TO_16);
  digests.add("/b", ALL_255);
  // 0x04030201 + 0xffffffff = 0x04030200 modulo 2^32, and so on.
  assert.equal(Buffer.from(digests.encode(), "base64").toString("hex"), "0002030404060708080a0b0c0c0e0f10");
  digests.remove("/a", ONE_TO_16);
  assert.equal(Buffer.from(digests.encode(), "base64").toString("latin1"), ALL_255);
});

test("encode() gives fewer buckets as sums of finer ones", () => {
  const fine = new BucketDigests(1024);
  const coarse = new BucketDigests(4);
  for (let i = 0; i < 100; i++) for (const digests of [fine, coarse]) digests.add(`/a/${i}`, hashValue(`/a/${i}`, i));
  assert.equal(fine.encode(4), coarse.encode());
  assert.throws(() => coarse.encode(8), /There are no 8 buckets/);
  assert.throws(() => fine.encode(3), /There are no 3 buckets/);
});

test("bucketCountOf() reads what encode() gives", () => {
  for (let count = 1; count <= 1024; count *= 2) assert.equal(bucketCountOf(new BucketDigests(count).encode()), count);
});

test("differing() names exactly the buckets whose KVs differ, whatever the order and the number of buckets", () => {
  const kvs = fc.dictionary(fc.string({ maxLength: 3 }), fc.integer({ min: 0, max: 2 }), { maxKeys: 40 });
  fc.assert(
    fc.property(kvs, kvs, fc.integer({ min: 0, max: 10 }), (ours, theirs, bits) => {
      const server = new BucketDigests();
      // What was there before leaves no trace.
      for (const [path, value] of Object.entries(theirs)) server.add(path, hashValue(path, value));
      for (const [path, value] of Object.entries(ours)) server.add(path, hashValue(path, value));
      for (const [path, value] of Object.entries(theirs)) server.remove(path, hashValue(path, value));
      const client = new BucketDigests(2 ** bits);
      for (const [path, value] of Object.entries(theirs).reverse()) client.add(path, hashValue(path, value));
      const paths = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
      const wanted = new Set(
        [...paths].filter((path) => ours[path] !== theirs[path]).map((path) => bucketOf(path, 2 ** bits)),
      );
      assert.deepEqual(
        server.differing(client.encode()),
        [...wanted].sort((a, b) => a - b),
      );
    }),
  );
});
