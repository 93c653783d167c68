import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { hashValue } from "./value-hash.ts";

const V1 = "/calico/v1/netset/a";
const NODE = "/calico/resources/v3/projectcalico.org/nodes/n";

test("hashValue() is 16 characters of one byte", () => {
  assert.match(hashValue(V1, { a: 1 }), /^[\0-\xff]{16}$/);
});

const SAME: readonly (readonly [string, string, unknown, unknown])[] = [
  ["order of fields", V1, { a: 1, b: 2 }, { b: 2, a: 1 }],
  [
    "order of labels",
    V1,
    new Map([
      ["a", "1"],
      ["b", "2"],
    ]),
    new Map([
      ["b", "2"],
      ["a", "1"],
    ]),
  ],
  ["Map and object", V1, { labels: new Map([["a", "1"]]) }, { labels: { a: "1" } }],
  ["undefined field", V1, { a: 1, b: undefined }, { a: 1 }],
  [
    "revision of a resource",
    NODE,
    { metadata: { name: "n", resourceVersion: "1" } },
    { metadata: { name: "n", resourceVersion: "2" } },
  ],
];
for (const [name, path, a, b] of SAME)
  test(`hashValue() is the same whatever the ${name}`, () => {
    assert.equal(hashValue(path, a), hashValue(path, b));
  });

const DIFFERENT: readonly (readonly [string, string, unknown, unknown])[] = [
  ["type of a scalar", V1, "1", 1],
  ["boolean and text", V1, true, "true"],
  ["nil and absent", V1, { a: null }, {}],
  ["order of a list", V1, ["a", "b"], ["b", "a"]],
  ["nesting", V1, [["a"], "b"], [["a", "b"]]],
  ["where a string ends", V1, ["ab", "c"], ["a", "bc"]],
  ["key and value", V1, { ab: "c" }, { a: "bc" }],
  ["text like an encoding", V1, ["s1:a"], ["a"]],
  ["empty list and empty map", V1, [], {}],
  ["generation of a resource", NODE, { metadata: { generation: 1 } }, { metadata: { generation: 2 } }],
  ["field named like a revision", V1, { metadata: { resourceVersion: "1" } }, { metadata: { resourceVersion: "2" } }],
];
for (const [name, path, a, b] of DIFFERENT)
  test(`hashValue() tells apart: ${name}`, () => {
    assert.notEqual(hashValue(path, a), hashValue(path, b));
  });

test("hashValue() is the hash of the documented form", () => {
  const form = [
    "06 02000000 04 02000000 2f61",
    "07 04 01000000 61 06 05000000 00 01 02 03 04 03000000 2d3135 04 02000000 6869",
    "04 01000000 62 07 05 02000000 fc00 3dd8 04 00000000 08",
    "08",
  ];
  const bytes = Buffer.from(form.join("").replaceAll(" ", ""), "hex");
  const wanted = createHash("sha256").update(bytes).digest().subarray(0, 16).toString("latin1");
  assert.equal(hashValue("/a", { b: new Map([["\u00fc\ud83d", ""]]), a: [null, false, true, -15, "hi"] }), wanted);
});

test("hashValue() of equal values under two paths differs", () => {
  assert.notEqual(hashValue(V1, { a: 1 }), hashValue(`${V1}b`, { a: 1 }));
});

test("hashValue() of a value larger than its buffer, and of what comes after it", () => {
  const small = hashValue(V1, { a: "small" });
  const large = { ["k".repeat(3_000_000)]: "\u20ac".repeat(3_000_000) };
  assert.equal(hashValue(V1, large), hashValue(V1, { ...large }));
  assert.notEqual(hashValue(V1, large), small);
  assert.equal(hashValue(V1, { a: "small" }), small);
});

test("hashValue() is equal exactly when the JSON forms with sorted keys are", () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  fc.assert(
    fc.property(json, json, (a, b) => {
      assert.equal(hashValue(V1, a) === hashValue(V1, b), sorted(a) === sorted(b));
      assert.equal(hashValue(V1, a), hashValue(V1, JSON.parse(sorted(a))));
    }),
  );
});

function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, field: unknown) =>
    typeof field === "object" && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : Object.is(field, -0)
        ? 0
        : field,
  );
}
