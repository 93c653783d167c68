import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareBytes } from "./compare-bytes.ts";

test("compareBytes() orders as the bytes of UTF-8 do", () => {
  // Of any length, and of characters whose UTF-16 order is another one.
  const text = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 8 }),
    fc.string({
      unit: fc.constantFrom("a", "b", "-", "/", "\u00e9", "\ud7ff", "\ue000", "\uffff", "\u{10000}"),
      maxLength: 4,
    }),
  );
  fc.assert(
    fc.property(text, text, (a, b) => {
      const want = Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.equal(Math.sign(compareBytes(a, b)), want);
    }),
  );
});
