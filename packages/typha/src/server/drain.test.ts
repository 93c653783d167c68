import assert from "node:assert/strict";
import { test } from "node:test";
import { drainGapMs } from "./drain.ts";

/** The first two rows are five clients under a long and a short budget, as upstream's tests have them. */
const ROWS: readonly [connections: number, budgetMs: number, maxGapMs: number, gapMs: number][] = [
  [5, 300_000, 1000, 1000],
  [5, 2500, 1000, 475],
  [1000, 300_000, 1000, 285],
  [0, 300_000, 1000, 1000],
];

for (const [connections, budgetMs, maxGapMs, gapMs] of ROWS) {
  test(`drainGapMs() spreads ${connections} goodbyes over ${budgetMs} ms, ${maxGapMs} ms apart at most`, () => {
    assert.equal(drainGapMs(connections, budgetMs, maxGapMs), gapMs);
  });
}
