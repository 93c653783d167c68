import assert from "node:assert/strict";
import { test } from "node:test";
import { FlushBucket, MAX_SAVED_FLUSHES, TICK_MS } from "./flush-bucket.ts";

/** Flushes that the bucket allows now, with something dirty before each. */
function burst(bucket: FlushBucket): number {
  let count = 0;
  for (;;) {
    bucket.onEvent();
    if (!bucket.takeFlush()) return count;
    count++;
  }
}

test("FlushBucket starts empty, and gains a flush a tick up to ten", () => {
  const bucket = new FlushBucket(1000);
  assert.equal(burst(bucket), 0);
  bucket.onTick(1000 + TICK_MS);
  assert.equal(burst(bucket), 1);
  bucket.onTick(1000 + 6 * TICK_MS);
  assert.equal(burst(bucket), 5, "a late timer is made good");
  bucket.onTick(1000 + 100 * TICK_MS);
  assert.equal(burst(bucket), MAX_SAVED_FLUSHES);
});

test("FlushBucket keeps fractions of a tick", () => {
  const bucket = new FlushBucket(0);
  bucket.onTick(TICK_MS * 1.9);
  assert.equal(burst(bucket), 1);
  bucket.onTick(TICK_MS * 2);
  assert.equal(burst(bucket), 1);
  bucket.onTick(TICK_MS * 1.5);
  assert.equal(burst(bucket), 0, "a time that went back gives nothing");
});

test("FlushBucket flushes only what is dirty", () => {
  const bucket = new FlushBucket(0);
  bucket.onTick(TICK_MS);
  assert.equal(bucket.takeFlush(), false);
  assert.equal(bucket.dirty, false);
  bucket.onEvent();
  assert.equal(bucket.dirty, true);
  assert.equal(bucket.takeFlush(), true);
  assert.equal(bucket.dirty, false);
});

test("FlushBucket lets the first in-sync flush at once, later ones not", () => {
  const bucket = new FlushBucket(0);
  bucket.onEvent(true);
  assert.equal(bucket.takeFlush(), true);
  bucket.onEvent(true);
  assert.equal(bucket.takeFlush(), false);
  const full = new FlushBucket(0);
  full.onTick(3 * TICK_MS);
  full.onEvent(true);
  assert.equal(burst(full), 3, "it adds nothing to what is saved");
});
