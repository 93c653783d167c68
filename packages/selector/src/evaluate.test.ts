import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseSelector } from "./selector.ts";

type Labels = Readonly<Record<string, string>>;

function labelsOf(labels: Labels): ReadonlyMap<string, string> {
  return new Map(Object.entries(labels));
}

describe("evaluate() against labels", () => {
  const rows: readonly (readonly [text: string, matching: readonly Labels[], other: readonly Labels[]])[] = [
    ['a == "b"', [{ a: "b" }, { a: "b", c: "d" }], [{}, { a: "c" }, { b: "b" }, { a: "" }]],
    ['a != "a"', [{}, { a: "b" }, { a: "" }], [{ a: "a" }]],
    ['a contains "b"', [{ a: "bab" }, { a: "b" }, { a: "ab" }], [{}, { a: "" }, { a: "aa" }, { b: "b" }]],
    ['a starts with "a"', [{ a: "abb" }, { a: "a" }], [{}, { a: "baa" }, { a: "" }]],
    ['a ends with "a"', [{ a: "bba" }, { a: "a" }], [{}, { a: "aab" }, { a: "" }]],
    ["a == ''", [{ a: "" }], [{}, { a: "a" }]],
    ["", [{}, { a: "b" }], []],
    [" ", [{}, { a: "b" }], []],
    ["all()", [{}, { a: "b" }], []],
    ["global()", [{}, { a: "b" }], []],
    ["!all()", [], [{}, { a: "b" }]],
    ["has(a)", [{ a: "b" }, { a: "" }], [{}, { b: "a" }]],
    ["!has(a)", [{}, { b: "a" }], [{ a: "b" }, { a: "" }]],
    ["! ! has(a)", [{ a: "b" }], [{}]],
    ["a in {}", [], [{}, { a: "" }]],
    ["a in {'b','c'}", [{ a: "b" }, { a: "c" }], [{}, { a: "d" }]],
    ["a not in {'b','c'}", [{}, { a: "d" }, { a: "" }], [{ a: "b" }, { a: "c" }]],
    ["a not in {}", [{}, { a: "b" }], []],
    ["!(!has(a) || has(b))", [{ a: "a" }], [{}, { b: "b" }, { a: "a", b: "b" }]],
    ["a=='a1'||b=='b1'", [{ a: "a1" }, { b: "b1" }, { a: "a1", b: "b1" }], [{}, { a: "b1", b: "a1" }]],
    ["! a=='a1' || ! b=='b1'", [{}, { a: "a1" }, { b: "b1" }], [{ a: "a1", b: "b1" }]],
    ["!a=='b'", [{}, { a: "c" }], [{ a: "b" }]],
    ["has(a) || has(b) && has(c)", [{ a: "" }, { b: "", c: "" }], [{ b: "" }, { c: "" }]],
    [
      "has(a) && has(b) && has(c)",
      [{ a: "", b: "", c: "" }],
      [
        { a: "", b: "" },
        { b: "", c: "" },
      ],
    ],
  ];
  for (const [text, matching, other] of rows) {
    it(`${JSON.stringify(text)}`, () => {
      const selector = parseSelector(text);
      for (const labels of matching) assert.equal(selector.evaluate(labelsOf(labels)), true, JSON.stringify(labels));
      for (const labels of other) assert.equal(selector.evaluate(labelsOf(labels)), false, JSON.stringify(labels));
    });
  }
});
