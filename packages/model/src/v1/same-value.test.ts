import assert from "node:assert/strict";
import { test } from "node:test";
import { sameValue } from "./same-value.ts";

const CASES: readonly [name: string, a: unknown, b: unknown, same: boolean][] = [
  ["field order does not count", { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ["an undefined field is an absent one", { a: 1, b: undefined }, { a: 1 }, true],
  ["an absent field is not null", { a: null }, {}, false],
  ["one field more", { a: 1 }, { a: 1, b: 2 }, false],
  ["other field names", { a: 1 }, { b: 1 }, false],
  ["order of lists counts", [1, 2], [2, 1], false],
  ["a longer list", [1], [1, 2], false],
  ["a list is no object", [], {}, false],
  [
    "order of label maps does not count",
    new Map([
      ["a", "1"],
      ["b", "2"],
    ]),
    new Map([
      ["b", "2"],
      ["a", "1"],
    ]),
    true,
  ],
  ["another label", new Map([["a", "1"]]), new Map([["a", "2"]]), false],
  ["a map is no object", new Map(), {}, false],
  ["deep difference", { rules: [{ ports: [1, 2] }] }, { rules: [{ ports: [1, 3] }] }, false],
  ["deep equality", { rules: [{ ports: [1, 2] }] }, { rules: [{ ports: [1, 2] }] }, true],
  ["text is no number", "1", 1, false],
  ["undefined is no null", undefined, null, false],
  ["inherited names are no fields", { toString: "x" }, {}, false],
];

for (const [name, a, b, same] of CASES) {
  test(`sameValue() compares content: ${name}`, () => {
    assert.equal(sameValue(a, b), same);
    assert.equal(sameValue(b, a), same);
  });
}
