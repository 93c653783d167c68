import assert from "node:assert/strict";
import { test } from "node:test";
import { FlushWindow } from "./flush-window.ts";

/** When what comes every `intervalMs` is published, where each fan-out takes `fanOutMs` and 100 ms are looked at. */
function publishes(window: FlushWindow, intervalMs: number, fanOutMs: number): number[] {
  const list: number[] = [];
  let dueMs: number | undefined;
  for (let nowMs = 0; nowMs < 100; nowMs++) {
    if (nowMs % intervalMs === 0 && dueMs === undefined) dueMs = nowMs + window.waitMs(nowMs);
    if (dueMs === undefined || nowMs < dueMs) continue;
    dueMs = undefined;
    list.push(nowMs);
    window.onPublish(nowMs);
    window.onFanOut(fanOutMs);
  }
  return list;
}

test("FlushWindow.waitMs() is nothing for the first change, and while there is time between fan-outs", () => {
  assert.deepEqual(publishes(new FlushWindow(), 20, 12), [0, 20, 40, 60, 80]);
  assert.equal(new FlushWindow().windowMs, 0);
});

test("FlushWindow.waitMs() is nothing where a fan-out is shorter than a timer is exact", () => {
  const window = new FlushWindow();
  window.onPublish(1000);
  window.onFanOut(0.5);
  assert.equal(window.waitMs(1000), 0);
  assert.equal(window.windowMs, 0);
});

test("FlushWindow.waitMs() leaves two fifths of the time to others, counted from the last publish", () => {
  assert.deepEqual(publishes(new FlushWindow(), 10, 12), [0, 20, 40, 60, 80]);
  assert.deepEqual(publishes(new FlushWindow(), 5, 12), [0, 20, 40, 60, 80]);
  assert.deepEqual(publishes(new FlushWindow(), 2, 24), [0, 40, 80]);
});

test("FlushWindow.waitMs() gets shorter as the window passes", () => {
  const window = new FlushWindow();
  window.onPublish(1000);
  window.onFanOut(12);
  assert.deepEqual(
    [1000, 1005, 1018, 1019.5, 1020, 5000].map((nowMs) => window.waitMs(nowMs)),
    [20, 15, 2, 0, 0, 0],
  );
});

test("FlushWindow.waitMs() is 100 ms at most, however long a fan-out took", () => {
  const window = new FlushWindow();
  window.onPublish(1000);
  window.onFanOut(5000);
  assert.equal(window.waitMs(1001), 100);
});
