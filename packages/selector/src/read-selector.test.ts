import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AUTHORED_BOUNDS, DEFAULT_BOUNDS } from "./parser.ts";
import { readSelector } from "./read-selector.ts";
import { tryParseSelector } from "./selector.ts";

/** Nested more than an author may, less than a translation may. */
const DEEP = `${"(".repeat(150)}a == 'b'${")".repeat(150)}`;

describe("readSelector()", () => {
  it("gives what tryParseSelector() gives, each time", () => {
    for (const text of ["a == 'b'", "", "a ==", "all()", `a == '${"x".repeat(600)}'`, DEEP]) {
      for (const bounds of [DEFAULT_BOUNDS, AUTHORED_BOUNDS, { maxLength: 5, maxDepth: 1 }]) {
        const expected = tryParseSelector(text, bounds);
        for (let i = 0; i < 2; i++) {
          const found = readSelector(text, bounds);
          if (found.ok && expected.ok) assert.equal(found.selector.text, expected.selector.text);
          else assert.deepEqual(found, expected);
        }
      }
    }
  });

  it("does not let through with narrow bounds what it has read with wide ones", () => {
    assert.equal(readSelector(DEEP, DEFAULT_BOUNDS).ok, true);
    assert.equal(readSelector(DEEP, AUTHORED_BOUNDS).ok, false);
  });

  it("shares the selector of a text that it has read before", () => {
    const [first, second] = [readSelector("has(once)"), readSelector("has(once)")];
    assert.ok(first.ok && second.ok);
    assert.equal(first.selector, second.selector);
  });
});
