import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "./seeded-random.ts";

test("seededRandom() repeats its sequence, and another seed has another", () => {
  const take = (seed: number): number[] => {
    const random = seededRandom(seed);
    return Array.from({ length: 8 }, () => random());
  };
  assert.deepEqual(take(7), take(7));
  assert.notDeepEqual(take(7), take(8));
});

test("seededRandom() spreads evenly over [0, 1)", () => {
  const random = seededRandom(1);
  const tenths = Array.from({ length: 10 }, () => 0);
  for (let i = 0; i < 10_000; i++) {
    const value = random();
    assert.ok(value >= 0 && value < 1);
    tenths[Math.floor(value * 10)]! += 1;
  }
  for (const count of tenths) assert.ok(count > 850 && count < 1150, String(count));
});
