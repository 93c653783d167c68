import assert from "node:assert/strict";
import { test } from "node:test";
import { FlushWindow } from "./flush-window.ts";

/** The windows of `count` events, `intervalMs` apart, when each fan-out takes `fanOutMs`. */
function windows(
  window: FlushWindow,
  count: number,
  intervalMs: number,
  fanOutMs: number,
  fromMs: number = 0,
): number[] {
  const list: number[] = [];
  for (let i = 0; i < count; i++) {
    list.push(window.onEvent(fromMs + i * intervalMs));
    window.onFanOut(fanOutMs);
  }
  return list;
}

test("FlushWindow.onEvent() never waits while fan-outs are short against the interval", () => {
  assert.deepEqual(new Set(windows(new FlushWindow(), 200, 40, 10)), new Set([0]));
  assert.deepEqual(new Set(windows(new FlushWindow(), 200, 1, 0.1)), new Set([0]));
});

test("FlushWindow.onEvent() grows to 10 ms when a fan-out takes more than half of the interval, and no further", () => {
  const list = windows(new FlushWindow(), 100, 10, 8);
  assert.equal(list.at(-1), 10);
  assert.ok(Math.max(...list) <= 10);
});

test("FlushWindow.onEvent() grows beyond 10 ms only when one fan-out takes longer than that", () => {
  assert.equal(windows(new FlushWindow(), 100, 10, 30).at(-1), 30);
  assert.equal(windows(new FlushWindow(), 100, 10, 400).at(-1), 50);
});

test("FlushWindow.onEvent() goes back to nothing when the load goes", () => {
  const window = new FlushWindow();
  windows(window, 100, 10, 8);
  const after = windows(window, 30, 100, 8, 1100);
  assert.equal(after.at(-1), 0);
});

test("FlushWindow.onEvent() forgets the load after a pause: the first change goes out at half the window or less", () => {
  const window = new FlushWindow();
  windows(window, 100, 10, 8);
  assert.ok(window.onEvent(60_000) <= 5);
});
