import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { RequestLimit } from "./request-limit.ts";

/** Asks for so many and counts the ones that were let through. */
function askFor(limit: RequestLimit, count: number, signal: AbortSignal): { passed: number } {
  const seen = { passed: 0 };
  for (let i = 0; i < count; i++)
    limit.acquire(signal).then(
      () => seen.passed++,
      () => undefined,
    );
  return seen;
}

test("RequestLimit lets a burst through at once, then so many a second, and saves up no more than a burst", async () => {
  const clock = new ManualClock();
  const limit = new RequestLimit({ qps: 5, burst: 10, clock });
  const { signal } = new AbortController();
  const first = askFor(limit, 15, signal);
  await clock.advance(0);
  assert.equal(first.passed, 10);
  await clock.advance(400);
  assert.equal(first.passed, 12);
  await clock.advance(600);
  assert.equal(first.passed, 15);
  await clock.advance(60_000);
  const second = askFor(limit, 15, signal);
  await clock.advance(0);
  assert.equal(second.passed, 10);
});

test("acquire() rejects when the signal aborts", async () => {
  const clock = new ManualClock();
  const limit = new RequestLimit({ qps: 1, burst: 1, clock });
  const abort = new AbortController();
  await limit.acquire(abort.signal);
  const waiting = limit.acquire(abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});
