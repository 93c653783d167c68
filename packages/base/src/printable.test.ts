import assert from "node:assert/strict";
import { test } from "node:test";
import { printable } from "./printable.ts";

const ROWS: readonly (readonly [text: string, shown: string])[] = [
  ["", ""],
  ["app == 'web' && café ✓ 😀", "app == 'web' && café ✓ 😀"],
  ["a\nb\tc\r", String.raw`a\u000ab\u0009c\u000d`],
  ["\u001b[31mred\u0007", String.raw`\u001b[31mred\u0007`],
  ["\u007f\u009b0m", String.raw`\u007f\u009b0m`],
  ["a\u2028b\u2029c", String.raw`a\u2028b\u2029c`],
  ["x\u202eyes\u2066", String.raw`x\u202eyes\u2066`],
];

for (const [text, shown] of ROWS) {
  test(`printable() shows ${JSON.stringify(text)} on one line`, () => assert.equal(printable(text), shown));
}
