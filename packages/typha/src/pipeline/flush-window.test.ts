import assert from "node:assert/strict";
import { test } from "node:test";
import { FlushWindow } from "./flush-window.ts";

/**
 * When what comes every `intervalMs` is published, where each fan-out takes `fanOutMs`: after three seconds of it, for
 * 100 ms from a publish on.
 */
function publishes(window: FlushWindow, intervalMs: number, fanOutMs: number): number[] {
  const list: number[] = [];
  let dueMs: number | undefined;
  for (let nowMs = 0; nowMs < 3200; nowMs++) {
    if (nowMs % intervalMs === 0) {
      window.onChange(nowMs);
      dueMs ??= nowMs + window.waitMs(nowMs);
    }
    if (dueMs === undefined || nowMs < dueMs) continue;
    dueMs = undefined;
    list.push(nowMs);
    window.onPublish(nowMs);
    window.onFanOut(fanOutMs);
  }
  const late = list.filter((atMs) => atMs >= 3000);
  return late.map((atMs) => atMs - (late[0] ?? 0)).filter((atMs) => atMs < 100);
}

/** Changes so close that they are load. */
function crowd(window: FlushWindow): void {
  for (let i = 0; i < 100; i++) window.onChange(900 + i);
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

test("FlushWindow.waitMs() leaves three eighths of the time to others, counted from the last publish", () => {
  assert.deepEqual(publishes(new FlushWindow(), 10, 12.5), [0, 20, 40, 60, 80]);
  assert.deepEqual(publishes(new FlushWindow(), 5, 12.5), [0, 20, 40, 60, 80]);
  assert.deepEqual(publishes(new FlushWindow(), 2, 25), [0, 40, 80]);
});

test("FlushWindow.waitMs() makes no pause where the next change is not expected within it", () => {
  // A fan-out and its pause are 43 ms here; every second change would wait for 3 ms, and the 13th for the 14th.
  assert.deepEqual(publishes(new FlushWindow(), 40, 27), [0, 40, 80]);
  assert.deepEqual(publishes(new FlushWindow(), 20, 15), [0, 20, 40, 60, 80]);
  assert.deepEqual(publishes(new FlushWindow(), 20, 15.5).slice(0, 3), [0, 25, 50]);
});

test("FlushWindow.waitMs() lets a fan-out end also where changes are few", () => {
  const window = new FlushWindow();
  window.onChange(1000);
  window.onPublish(1000);
  window.onFanOut(30);
  window.onChange(1010);
  assert.equal(window.waitMs(1010), 20);
});

test("FlushWindow.waitMs() gets shorter as the window passes", () => {
  const window = new FlushWindow();
  crowd(window);
  window.onPublish(1000);
  window.onFanOut(12.5);
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
