import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSelector } from "@bulrush/selector";
import fc from "fast-check";
import { MemberIndex } from "./member-index.ts";

const label = fc.constantFrom("a", "b", "c");
const value = fc.constantFrom("1", "2", "3");
const labels = fc.array(fc.tuple(label, value), { maxLength: 3 }).map((entries) => new Map(entries));
const term = fc.oneof(
  fc.tuple(label, fc.constantFrom("==", "!="), value).map(([name, operator, text]) => `${name} ${operator} '${text}'`),
  fc
    .tuple(label, fc.constantFrom("in", "not in"), fc.array(value, { minLength: 1 }))
    .map(([name, operator, values]) => `${name} ${operator} {${values.map((text) => `'${text}'`).join(", ")}}`),
  label.map((name) => `has(${name})`),
  label.map((name) => `!has(${name})`),
  fc.constant("all()"),
);
const selector = fc
  .array(fc.tuple(term, fc.constantFrom("&&", "||")), { minLength: 1, maxLength: 4 })
  .map((terms) => terms.map(([text, operator], i) => (i === 0 ? text : `${operator} ${text}`)).join(" "));

test("pick() finds what evaluating the selector on each finds", () => {
  fc.assert(
    fc.property(fc.array(labels, { maxLength: 8 }), selector, (members, text) => {
      const parsed = parseSelector(text);
      const expected = members.flatMap((one, i) => (parsed.evaluate(one) ? [i] : []));
      assert.deepEqual(new MemberIndex(members).pick(text), new Set(expected));
    }),
  );
});

test("pick() gives undefined for what cannot be read", () => {
  assert.equal(new MemberIndex([]).pick("a = b"), undefined);
});
