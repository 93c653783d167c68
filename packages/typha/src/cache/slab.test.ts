import assert from "node:assert/strict";
import { test } from "node:test";
import { type KV, KVPacking, PackedKV } from "@bulrush/proto";
import { packIfPossible, Slab, slotsOf } from "./slab.ts";

const SLOTS = 64;
const kvOf = (value: unknown): KV => ({ path: "/calico/v1/x", value, revision: "1", updateType: "new" });

/** A slab, and what is in it as text. */
function scene(): {
  readonly slab: Slab;
  readonly put: (index: number, value: string) => void;
  readonly texts: (slots: readonly unknown[]) => readonly unknown[];
  readonly capacity: () => number;
} {
  const packing = new KVPacking();
  const slab = new Slab(SLOTS, packing);
  return {
    slab,
    put: (index, value) => slab.set(index, packIfPossible(kvOf(value), packing)),
    texts: (slots) => slots.map((slot) => (slot instanceof PackedKV ? packing.unpack(slot).value : slot)),
    capacity: () => slab.capture().bytes.length,
  };
}

test("Slab gives memory back once most of it is not in use, and leaves to others what they hold", () => {
  const { slab, put, texts, capacity } = scene();
  const values = Array.from({ length: SLOTS }, (_, i) => `${i} `.repeat(500));
  for (const [i, value] of values.entries()) put(i, value);
  const before = slab.capture();
  const first = slab.get(0);
  const full = capacity();
  assert.ok(full >= SLOTS * 1000);
  for (let i = 0; i < SLOTS; i++) {
    if (i % 8 !== 3) slab.set(i, undefined);
    const left = values.filter((_, j) => j > i || j % 8 === 3);
    assert.deepEqual(texts(slotsOf(slab.capture())), left);
    const inUse = left.reduce((sum, value) => sum + value.length, 0);
    assert.ok(capacity() <= 4.5 * inUse, `${capacity()} bytes for ${inUse}`);
  }
  assert.ok(capacity() < full / 2);
  for (let i = 3; i < SLOTS; i += 8) slab.set(i, undefined);
  assert.equal(capacity(), 0);
  assert.deepEqual(texts(slotsOf(before)), values);
  assert.deepEqual(texts([first]), [values[0]]);
  put(5, "again");
  assert.deepEqual(texts(slotsOf(slab.capture())), ["again"]);
});

test("Slab gives memory back where a large value becomes a small one, or an object", () => {
  const { slab, put, texts, capacity } = scene();
  put(0, "small");
  put(1, "x".repeat(1_000_000));
  put(1, "short");
  assert.deepEqual(texts([slab.get(0), slab.get(1)]), ["small", "short"]);
  assert.ok(capacity() < 10_000);
  put(1, "x".repeat(1_000_000));
  const object = kvOf({ rare: 1 });
  slab.set(1, object);
  assert.deepEqual(texts(slotsOf(slab.capture())), ["small", object]);
  assert.ok(capacity() < 10_000);
});

test("packIfPossible() leaves what no client would take to those who tell of it, and hides no other failure", () => {
  const packing = new KVPacking();
  const odd = kvOf(new Date(0));
  assert.equal(packIfPossible(odd, packing), odd);
  const failing = {
    get field(): never {
      throw new RangeError("out of memory");
    },
  };
  for (let i = 0; i < 15; i++) packIfPossible(kvOf({ field: 1 }), packing);
  assert.throws(() => packIfPossible(kvOf(failing), packing), RangeError);
});
