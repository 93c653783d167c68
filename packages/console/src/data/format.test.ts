import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, countText, durationText } from "./format.ts";

test("bytesText() keeps to few digits", () => {
  const rows: readonly (readonly [number, string])[] = [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [99_900, "99.9 kB"],
    [123_456, "123 kB"],
    [999_600, "1.0 MB"],
    [5_400_000_000, "5.4 GB"],
  ];
  for (const [bytes, text] of rows) assert.equal(bytesText(bytes), text);
});

test("durationText() names the largest unit that says something", () => {
  const rows: readonly (readonly [number, string])[] = [
    [0, "0 ms"],
    [949.6, "950 ms"],
    [1200, "1.2 s"],
    [59_000, "59 s"],
    [60_000, "1 min"],
    [7_200_000, "2 h"],
    [172_800_000, "2 d"],
  ];
  for (const [ms, text] of rows) assert.equal(durationText(ms), text);
});

test("countText() sets thousands apart", () => {
  assert.equal(countText(1_234_567), "1,234,567");
  assert.equal(countText(571.4285), "571.4");
});
