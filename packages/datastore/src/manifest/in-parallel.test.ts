import assert from "node:assert/strict";
import { test } from "node:test";
import { inParallel } from "./in-parallel.ts";

test("inParallel() starts in order, at most so many at a time, and ends after all", async () => {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  let isOver = false;
  const run = inParallel([10, 11, 12, 13], 2, (item, index) => {
    assert.equal(item, index + 10);
    started.push(item);
    return new Promise((resolve) => void ends.push(resolve));
  }).then(() => (isOver = true));
  const wanted = [
    [10, 11],
    [10, 11, 12],
    [10, 11, 12, 13],
  ];
  for (const [i, want] of wanted.entries()) {
    assert.deepEqual(started, want);
    assert.equal(isOver, false);
    ends[i]?.();
    await Promise.resolve();
    await Promise.resolve();
  }
  for (const end of ends) end();
  await run;
  assert.deepEqual(started, [10, 11, 12, 13]);
});

test("inParallel() takes nothing, and rejects with the first failure", async () => {
  await inParallel([], 3, () => Promise.reject(new Error("never")));
  await assert.rejects(
    inParallel([1, 2], 2, (item) => Promise.reject(new Error(`of ${item}`))),
    /of 1/,
  );
});
