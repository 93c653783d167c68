import assert from "node:assert/strict";
import { it } from "node:test";
import { Throttle } from "./throttle.ts";

it("Throttle.take() gives one permit at the start, then one each 100 ms", () => {
  const throttle = new Throttle(1000);
  assert.equal(throttle.take(1000), 0);
  assert.equal(throttle.take(1000), 100);
  assert.equal(throttle.take(1060), 40);
  assert.equal(throttle.take(1100), 0);
  assert.equal(throttle.take(1150), 50);
});

it("Throttle.take() saves up ten permits, when nobody takes one for long", () => {
  const throttle = new Throttle(0);
  const permits = Array.from({ length: 12 }, () => throttle.take(60_000)).filter((waitMs) => waitMs === 0);
  assert.equal(permits.length, 10);
});
