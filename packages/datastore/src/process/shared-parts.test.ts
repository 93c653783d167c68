import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SharedParts } from "./shared-parts.ts";
import { sortedMap } from "./sorted-map.ts";

const withExtra = (object: Readonly<Record<string, string>>, extra: string): ReadonlyMap<string, string> =>
  sortedMap(object, [["extra", extra]]);

describe("SharedParts", () => {
  it("gives one object for equal parts, different ones for parts that differ", () => {
    const parts = new SharedParts();
    assert.equal(parts.plain(["a", "b"]), parts.plain(["a", "b"]));
    assert.notEqual(parts.plain(["a", "b"]), parts.plain(["a,b"]));
    assert.equal(parts.map({ a: "1" }, "x", withExtra), parts.map({ a: "1" }, "x", withExtra));
    assert.notEqual(parts.map({ a: "1" }, "x", withExtra), parts.map({ a: "1" }, "y", withExtra));
    assert.equal(parts.text("node-1"), "node-1");
  });

  it("never confuses two maps, whatever they contain", () => {
    const parts = new SharedParts();
    const names = fc.constantFrom("a", "b", '"', ":", "}", "extra");
    const object = fc.dictionary(names, fc.string({ unit: fc.constantFrom("a", '"', ",", ":", "}") }));
    fc.assert(
      fc.property(object, fc.string({ unit: fc.constantFrom("a", "}", '"') }), (labels, extra) => {
        const found = parts.map(labels, extra, withExtra);
        assert.deepEqual(Array.from(found), Array.from(withExtra(labels, extra)));
        // The same again, at once and after another one; the order of names plays no part.
        const turned = Object.fromEntries(Object.entries(labels).reverse());
        assert.equal(parts.map({ ...labels }, extra, withExtra), found);
        assert.deepEqual(Array.from(parts.map(turned, extra, withExtra)), Array.from(found));
        parts.map({ other: "x" }, extra, withExtra);
        assert.equal(parts.map({ ...labels }, extra, withExtra), found);
      }),
    );
  });
});
