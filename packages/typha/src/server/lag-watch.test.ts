import assert from "node:assert/strict";
import { test } from "node:test";
import { LagWatch } from "./lag-watch.ts";

/** Judgements once a second from `fromMs`, of a lag that changes by `stepMs` each time. */
function judgements(watch: LagWatch, fromMs: number, count: number, lagMs: number, stepMs: number): Set<string> {
  return new Set(Array.from({ length: count }, (_, i) => watch.judge(lagMs + i * stepMs, fromMs + i * 1000, 0)));
}

test("LagWatch.judge() is fine up to the limit", () => {
  assert.deepEqual(judgements(new LagWatch(10_000, 0), 0, 100, 10_000, 0), new Set(["fine"]));
});

test("LagWatch.judge() lets newcomers be late, and says so once", () => {
  const watch = new LagWatch(10_000, 30_000);
  assert.equal(watch.judge(11_000, 5000, 0), "grace-used");
  assert.deepEqual(judgements(watch, 6000, 20, 12_000, 1000), new Set(["fine"]));
});

test("LagWatch.judge() gives up on a client whose lag does not shrink", () => {
  const watch = new LagWatch(10_000, 0);
  assert.equal(watch.judge(20_000, 100_000, 0), "catching-up");
  assert.equal(watch.judge(20_000, 100_900, 0), "catching-up");
  assert.equal(watch.judge(20_000, 101_000, 0), "too-far", "a tenth of the limit later");
});

test("LagWatch.judge() waits for a client that catches up, however slowly", () => {
  assert.deepEqual(judgements(new LagWatch(10_000, 0), 100_000, 600, 1_000_000, -500), new Set(["catching-up"]));
});
