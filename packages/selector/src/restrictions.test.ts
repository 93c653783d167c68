import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseSelector } from "./selector.ts";

/** `+` present, `-` absent, then the values that will do, if they are limited. */
type Want = Readonly<Record<string, string>>;

function summary(text: string): Want {
  const out: Record<string, string> = {};
  for (const [label, restriction] of parseSelector(text).restrictions) {
    const values = restriction.mustHaveOneOfValues;
    out[label] =
      (restriction.mustBePresent ? "+" : "") +
      (restriction.mustBeAbsent ? "-" : "") +
      (values === undefined ? "" : `[${values.join(",")}]`);
  }
  return out;
}

describe("restrictions", () => {
  const rows: readonly (readonly [text: string, want: Want])[] = [
    ["a=='v'", { a: "+[v]" }],
    ["a in {'w','v'}", { a: "+[v,w]" }],
    ["a in {}", { a: "+[]" }],
    ["has(a)", { a: "+" }],
    ["a contains 'v'", { a: "+" }],
    ["a starts with 'v'", { a: "+" }],
    ["a ends with 'v'", { a: "+" }],
    ["!has(a)", { a: "-" }],
    ["a!='v'", {}],
    ["a not in {'v'}", {}],
    ["!a=='v'", {}],
    ["all()", {}],
    ["global()", {}],
    ["a=='v1'&&a=='v2'", { a: "+[]" }],
    ["a in {'v1','v2'} && a in {'v2','v3'}", { a: "+[v2]" }],
    ["has(a) && !has(a)", { a: "+-" }],
    ["has(a) && a=='v'", { a: "+[v]" }],
    ["a=='v' && b=='w' && c!='x'", { a: "+[v]", b: "+[w]" }],
    ["a=='v1' || a=='v2'", { a: "+[v1,v2]" }],
    ["a=='v1' || a=='v2' || a=='v1'", { a: "+[v1,v2]" }],
    ["has(a) || a=='v2'", { a: "+" }],
    ["a=='v2' || has(b)", {}],
    ["a=='v2' || all()", {}],
    ["!has(a) || !has(a) && b=='v'", { a: "-" }],
    ["!has(a) || has(a)", {}],
    ["(a=='v' && b=='w') || (a=='x' && c=='y')", { a: "+[v,x]" }],
    ["(a=='v1' && a=='v2') || a=='v3'", { a: "+[v3]" }],
    ["!(has(a) || has(b))", {}],
  ];
  for (const [text, want] of rows) it(text, () => assert.deepEqual(summary(text), want));

  it("of a long || take linear time", () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `a=='${i}'`).join("||");
    assert.equal(parseSelector(text).restrictions.get("a")?.mustHaveOneOfValues?.length, 20_000);
  });
});
