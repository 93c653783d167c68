import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff, BoundedQueue, CodedError, hasCode, ManualClock, must, sleep } from "./index.ts";

test("must() returns what is there and throws on what is not", () => {
  assert.equal(must(0, "zero"), 0);
  assert.throws(() => must(undefined, "the value"), /Expected the value to be there/);
});

test("Backoff grows to its cap and starts again after reset()", () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 300, jitter: 0.5 }, () => 0);
  assert.deepEqual([backoff.nextMs(), backoff.nextMs(), backoff.nextMs(), backoff.nextMs()], [100, 200, 300, 300]);
  backoff.reset();
  assert.equal(backoff.nextMs(), 100);
  assert.equal(new Backoff({ initialMs: 100, maxMs: 300, jitter: 0.5 }, () => 0.5).nextMs(), 75);
  const capped = new Backoff({ initialMs: 100, maxMs: 30 }, () => 0);
  assert.equal(capped.nextMs(), 30);
  capped.reset();
  assert.equal(capped.nextMs(), 30);
});

test("BoundedQueue keeps order, holds its bound and wakes waiters", async () => {
  const queue = new BoundedQueue<number>(2);
  queue.push(1);
  queue.push(2);
  assert.ok(queue.isFull);
  assert.throws(() => queue.push(3), /over its bound of 2/);
  let space = false;
  const waiting = queue.whenSpace().then(() => {
    space = true;
  });
  assert.equal(queue.shift(), 1);
  await waiting;
  assert.ok(space);
  assert.equal(queue.shift(), 2);
  assert.equal(queue.shift(), undefined);
});

test("ManualClock fires timers in order of due time, nested ones too", async () => {
  const clock = new ManualClock(1000);
  const fired: string[] = [];
  clock.after(20, () => fired.push("b"));
  clock.after(10, () => {
    fired.push("a");
    clock.after(5, () => fired.push("nested"));
  });
  clock.after(10, () => fired.push("cancelled"))();
  await clock.advance(20);
  assert.deepEqual(fired, ["a", "nested", "b"]);
  assert.equal(clock.nowMs(), 1020);
});

test("sleep() rejects with the reason of an abort", async () => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const waiting = sleep(clock, 1000, controller.signal);
  controller.abort(new Error("stopped"));
  await assert.rejects(waiting, /stopped/);
  assert.equal(clock.pending, 0);
});

test("hasCode() looks at the code, not at the class", () => {
  assert.ok(hasCode(new CodedError("x", { code: "X_BAD" }), "X_BAD"));
  assert.ok(!hasCode(new Error("X_BAD"), "X_BAD"));
});
