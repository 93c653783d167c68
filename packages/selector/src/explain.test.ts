import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { explainMismatch } from "./explain.ts";
import { parseSelector } from "./selector.ts";

describe("explainMismatch()", () => {
  const labels = new Map([
    ["a", "1"],
    ["b", ""],
  ]);
  const rows: readonly (readonly [text: string, messages: readonly string[]])[] = [
    ["a == '1' && has(b)", []],
    ["a == '2'", ['a == "2" does not hold: a is "1"']],
    ["has(c)", ["has(c) does not hold: c is missing"]],
    ["!has(b)", ['has(b) holds: b is ""']],
    ["!all()", ["all() holds"]],
    ["a == '1' && c == 'x' && b == 'y'", ['c == "x" does not hold: c is missing', 'b == "y" does not hold: b is ""']],
    ["a == '2' || c == 'x'", ['a == "2" does not hold: a is "1"', 'c == "x" does not hold: c is missing']],
    ["!(has(c) || has(a))", ['has(a) holds: a is "1"']],
    ["!(has(a) && !has(c))", ['has(a) holds: a is "1"', "has(c) does not hold: c is missing"]],
  ];
  for (const [text, messages] of rows) {
    it(text, () =>
      assert.deepEqual(
        explainMismatch(parseSelector(text), labels).map((one) => one.message),
        messages,
      ),
    );
  }
});
