import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSelector } from "@bulrush/selector";
import { LabelKeys } from "./label-set.ts";
import { compileSelector, matches } from "./match-node.ts";

const values = (count: number): string => Array.from({ length: count }, (_, i) => `'v${i}'`).join(", ");

/** The selector on an item with these labels of its own and those of two profiles, the first of which counts. */
function holds(text: string, own: Record<string, string>, ...profiles: Record<string, string>[]): boolean {
  const keys = new LabelKeys();
  const node = compileSelector(parseSelector(text).root, keys);
  const labels = (map: Record<string, string>) => keys.makeSet(new Map(Object.entries(map)));
  return matches(node, { labels: labels(own), parents: profiles.map((map) => ({ labels: labels(map) })) });
}

test("matches() decides by the item's own label, then by that of the first profile that has it", () => {
  assert.equal(holds("a == '1'", { a: "1" }, { a: "2" }), true);
  assert.equal(holds("a == '2'", { a: "1" }, { a: "2" }), false);
  assert.equal(holds("a == '2'", {}, { b: "1" }, { a: "2" }, { a: "3" }), true);
  assert.equal(holds("has(a)", {}, { b: "1" }), false);
});

test("matches() finds a value in sets of any size", () => {
  for (const count of [1, 2, 8, 9, 40]) {
    for (const [value, isIn] of [
      ["v0", true],
      [`v${count - 1}`, true],
      [`v${count}`, false],
      ["", false],
    ] as const) {
      assert.equal(holds(`a in {${values(count)}}`, { a: value }), isIn, `${value} in ${count}`);
      assert.equal(holds(`a not in {${values(count)}}`, { a: value }), !isIn, `${value} not in ${count}`);
    }
    assert.equal(holds(`a in {${values(count)}}`, {}), false);
    assert.equal(holds(`a not in {${values(count)}}`, {}), true);
  }
});

test("matches() reads groups in groups of the same kind, of the other and negated ones", () => {
  const abc = { a: "", b: "", c: "" };
  const without = (name: "a" | "b" | "c"): Record<string, string> => {
    const { [name]: _, ...rest } = abc;
    return rest;
  };
  for (const text of ["(has(a) && has(b)) && has(c)", "has(a) && (has(b) && has(c))"]) {
    assert.equal(holds(text, abc), true, text);
    for (const name of ["a", "b", "c"] as const) assert.equal(holds(text, without(name)), false, `${text} but ${name}`);
  }
  for (const text of ["(has(a) || has(b)) || has(c)", "has(a) || (has(b) || has(c))"]) {
    assert.equal(holds(text, {}), false, text);
    for (const name of ["a", "b", "c"]) assert.equal(holds(text, { [name]: "" }), true, `${text} with ${name}`);
  }
  assert.equal(holds("(has(a) || has(b)) && has(c)", { a: "" }), false);
  assert.equal(holds("(has(a) || has(b)) && has(c)", { b: "", c: "" }), true);
  assert.equal(holds("!(has(a) && has(b)) && has(c)", abc), false);
  assert.equal(holds("!(has(a) && has(b)) && has(c)", { b: "", c: "" }), true);
  assert.equal(holds("!(has(a) || has(b)) || (has(c) && !has(a))", { a: "" }), false);
});

test("matches() holds for constants, alone and in groups", () => {
  for (const text of ["all()", "global()", "all() && global()", "has(a) || all()"]) assert.equal(holds(text, {}), true);
  assert.equal(holds("!all()", { a: "" }), false);
  assert.equal(holds("has(a) && all()", {}), false);
});
