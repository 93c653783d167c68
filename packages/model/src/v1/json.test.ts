import assert from "node:assert/strict";
import { test } from "node:test";
import { formatValue, valueFromPlain } from "./json.ts";
import type { Key } from "./key.ts";
import type { Value } from "./value.ts";

const NETWORK_SET: Key = { type: "NetworkSet", name: "s" };

test("formatValue() writes label maps as objects, sorted by key", () => {
  const labels = new Map([
    ["b", "1"],
    ["B", "2"],
    ["a", "3"],
  ]);
  assert.equal(
    formatValue({ nets: ["10.0.0.0/8"], labels }),
    '{"nets":["10.0.0.0/8"],"labels":{"B":"2","a":"3","b":"1"}}',
  );
  assert.equal(formatValue(new Map([["a", "1"]])), '{"a":"1"}');
  assert.equal(formatValue("text"), '"text"');
});

test("valueFromPlain() makes Maps of labels and annotations, wherever they stand, and of nothing else", () => {
  assert.deepEqual(valueFromPlain(NETWORK_SET, { nets: [], labels: { a: "1" } }), {
    nets: [],
    labels: new Map([["a", "1"]]),
  });
  const rules = { inbound_rules: [{ action: "deny", metadata: { annotations: { n: "1" } } }], outbound_rules: [] };
  assert.deepEqual(valueFromPlain({ type: "ProfileRules", name: "p" }, rules), {
    inbound_rules: [{ action: "deny", metadata: { annotations: new Map([["n", "1"]]) } }],
    outbound_rules: [],
  });
  assert.deepEqual(valueFromPlain({ type: "ProfileLabels", name: "p" }, { a: "1" }), new Map([["a", "1"]]));
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n", labels: { a: "1" } } };
  assert.equal(valueFromPlain({ type: "Resource", kind: "Node", namespace: "", name: "n" }, node), node);
});

test("valueFromPlain() leaves a wrong shape for validation, and a field named __proto__ a field", () => {
  const plain = JSON.parse('{"labels":["a"],"__proto__":{"x":1}}') as unknown;
  const value = valueFromPlain(NETWORK_SET, plain) as unknown as Record<string, unknown>;
  assert.deepEqual(value["labels"], ["a"]);
  assert.deepEqual(Object.keys(value), ["labels", "__proto__"]);
});

test("formatValue() and valueFromPlain() are each other's inverse", () => {
  const value = { nets: ["1.2.3.4/32"], labels: new Map([["a", "1"]]), profile_ids: ["kns.n"] } as Value;
  assert.deepEqual(valueFromPlain(NETWORK_SET, JSON.parse(formatValue(value)) as unknown), value);
});
