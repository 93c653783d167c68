import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryGrowth } from "./memory-rule.ts";

const MIB = 1 << 20;

function samples(
  heap: readonly number[],
  rss: readonly number[] = heap.map(() => 200),
): Parameters<typeof memoryGrowth>[0] {
  return heap.map((mib, i) => ({ heapBytes: mib * MIB, rssBytes: (rss[i] ?? 200) * MIB }));
}

const ROWS: readonly [title: string, samples: Parameters<typeof memoryGrowth>[0], grew?: RegExp][] = [
  ["the same all the time", samples([30, 30, 30, 30])],
  ["up and down", samples([30, 45, 28, 44, 31, 46])],
  ["a single high one at the end", samples([30, 30, 30, 30, 30, 30, 30, 30, 90])],
  ["a little more than at first", samples([30, 35, 40])],
  ["a leak", samples([30, 33, 36, 39, 42, 45, 48, 51, 54]), /heapBytes grew from 34603008 to 53477376/],
  ["two samples, the second too big", samples([30, 42]), /heapBytes/],
  ["a resident set that grows beside the heap", samples([30, 30, 30], [200, 250, 320]), /rssBytes/],
  ["a resident set with the peak of a list", samples([30, 30, 30], [200, 240, 280])],
];
for (const [title, given, grew] of ROWS) {
  test(`memoryGrowth(): ${title} is ${grew === undefined ? "flat" : "growth"}`, () => {
    const found = memoryGrowth(given);
    if (grew === undefined) assert.equal(found, undefined);
    else assert.match(found ?? "", grew);
  });
}
