import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { systemClock } from "./clock.ts";

const LONGEST_MS = 2 ** 31 - 1;

/** What the runtime was asked to wait, in milliseconds, and who waits. */
function waits(t: TestContext): { delayMs: number; callback: () => void }[] {
  const all: { delayMs: number; callback: () => void }[] = [];
  t.mock.method(globalThis, "setTimeout", (callback: () => void, delayMs: number) => {
    all.push({ delayMs, callback });
    return { unref: () => {} };
  });
  return all;
}

test("after() waits in parts for what is longer than the runtime can wait", (t) => {
  const all = waits(t);
  let fired = 0;
  systemClock().after(2 * LONGEST_MS + 5, () => fired++);
  all[0]?.callback();
  all[1]?.callback();
  assert.deepEqual([all.map(({ delayMs }) => delayMs), fired], [[LONGEST_MS, LONGEST_MS, 5], 0]);
  all[2]?.callback();
  assert.deepEqual([all.length, fired], [3, 1]);
});

test("after() is cancelled in its later parts too", (t) => {
  const all = waits(t);
  const { mock } = t.mock.method(globalThis, "clearTimeout", () => {});
  const cancel = systemClock().after(Number.POSITIVE_INFINITY, () => assert.fail("fired"));
  for (let n = 0; n < 3; n++) all[n]?.callback();
  cancel();
  assert.deepEqual([all.length, mock.callCount()], [4, 1]);
});
