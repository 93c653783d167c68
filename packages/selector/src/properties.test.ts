import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { explainMismatch } from "./explain.ts";
import { parseSelector, tryParseSelector } from "./selector.ts";

const LABELS = ["a", "b", "in", "has", "projectcalico.org/namespace"];
const VALUES = ["", "v", "vw", "wv", 'q"', "it's", "all()"];

const label = fc.constantFrom(...LABELS);
const value = fc.constantFrom(...VALUES).map((text) => (text.includes("'") ? `"${text}"` : `'${text}'`));
const operator = fc.constantFrom("==", "!=", "contains", "starts with", "startswith", "ends with", "endswith");
const setOperator = fc.constantFrom("in", "not in", "notin");
const blanks = fc.constantFrom("", " ", "\t ");

const leaf = fc.oneof(
  fc.tuple(label, operator, value).map(([l, o, v]) => `${l} ${o} ${v}`),
  fc.tuple(label, setOperator, fc.array(value, { maxLength: 3 })).map(([l, o, v]) => `${l} ${o} {${v.join(",")}}`),
  fc.tuple(label, blanks).map(([l, s]) => `has(${s}${l}${s})`),
  fc.constantFrom("all()", "global()"),
);

const selectorText = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    tie("tree").map((one) => `!(${one})`),
    tie("tree").map((one) => `! ${one}`),
    fc.array(tie("tree"), { minLength: 2, maxLength: 3 }).map((all) => all.join(" && ")),
    fc.array(tie("tree"), { minLength: 2, maxLength: 3 }).map((all) => `(${all.join("||")})`),
  ),
})).tree;

const labelMap = fc
  .dictionary(fc.constantFrom(...LABELS), fc.constantFrom(...VALUES, "other"))
  .map((labels) => new Map(Object.entries(labels)));

describe("properties", () => {
  it("parseSelector() of the canonical text gives the same tree", () => {
    fc.assert(
      fc.property(selectorText, (text) => {
        const selector = parseSelector(text);
        const again = parseSelector(selector.text);
        assert.equal(again.text, selector.text);
        assert.deepEqual(again.root, selector.root);
      }),
    );
  });

  it("restrictions hold whenever the selector matches", () => {
    let matches = 0;
    fc.assert(
      fc.property(selectorText, labelMap, (text, labels) => {
        const selector = parseSelector(text);
        if (!selector.evaluate(labels)) return;
        matches++;
        for (const [name, restriction] of selector.restrictions) {
          const actual = labels.get(name);
          if (restriction.mustBePresent) assert.notEqual(actual, undefined);
          if (restriction.mustBeAbsent) assert.equal(actual, undefined);
          if (restriction.mustHaveOneOfValues !== undefined)
            assert(actual !== undefined && restriction.mustHaveOneOfValues.includes(actual));
        }
      }),
      { numRuns: 2000 },
    );
    assert(matches > 300, `only ${matches} of 2000 runs matched`);
  });

  it("explainMismatch() names a term exactly when the selector does not match", () => {
    fc.assert(
      fc.property(selectorText, labelMap, (text, labels) => {
        const selector = parseSelector(text);
        const mismatches = explainMismatch(selector, labels);
        assert.equal(mismatches.length === 0, selector.evaluate(labels));
        for (const one of mismatches) assert.equal(parseSelector(one.term).evaluate(labels), !one.wanted);
      }),
      { numRuns: 1000 },
    );
  });

  it("tryParseSelector() never throws, and what it accepts it can write and read again", () => {
    const piece = fc.constantFrom(
      ..."has( all() global() ( ) { } , == != ! && || in notin contains starts with ends a b 'v' \"w\" ' = \u00e9".split(
        " ",
      ),
    );
    const noise = fc.array(fc.oneof(piece, fc.string({ maxLength: 3 })), { maxLength: 12 }).map((all) => all.join(" "));
    fc.assert(
      fc.property(noise, (text) => {
        const result = tryParseSelector(text);
        if (result.ok) assert.equal(parseSelector(result.selector.text).text, result.selector.text);
        else assert(result.error.position >= 0 && result.error.position <= text.length);
      }),
      { numRuns: 3000 },
    );
  });
});
