import assert from "node:assert/strict";
import { test } from "node:test";
import type { Policy } from "@bulrush/model";
import { parseStreamLine } from "./kv-line.ts";

const paths = (text: string): unknown => {
  const item = parseStreamLine(text);
  return item.type === "updates"
    ? item.updates.map(({ path, value }) => [path, value === undefined ? "gone" : "there"])
    : item;
};

test("parseStreamLine() reads a KV, a delete, a batch and a status", () => {
  assert.deepEqual(paths('{"key":"/calico/v1/config/A","value":"b"}'), [["/calico/v1/config/A", "there"]]);
  assert.deepEqual(paths('{"key":"/calico/v1/config/A","value":null}'), [["/calico/v1/config/A", "gone"]]);
  assert.deepEqual(paths('{"key":"/calico/v1/config/A"}'), [["/calico/v1/config/A", "gone"]]);
  assert.deepEqual(paths('[{"key":"/calico/v1/config/A","value":"b"},{"key":"/calico/v1/config/B","value":"c"}]'), [
    ["/calico/v1/config/A", "there"],
    ["/calico/v1/config/B", "there"],
  ]);
  assert.deepEqual(paths('{"status":"in-sync"}'), { type: "status", status: "in-sync" });
});

test("parseStreamLine() makes Maps of labels", () => {
  const item = parseStreamLine('{"key":"/calico/v1/policy/profile/p/labels","value":{"a":"b"}}');
  assert.deepEqual(item.type === "updates" && item.updates[0]?.value, new Map([["a", "b"]]));
});

test("parseStreamLine() takes the tier of an older writer's policy from its key", () => {
  const item = parseStreamLine(
    '{"key":"/calico/v1/policy/tier/sec/policy/sec.p","value":{"selector":"all()","inbound_rules":[],"outbound_rules":[]}}',
  );
  assert.ok(item.type === "updates");
  assert.equal(item.updates[0]?.path, "/calico/v1/policy/GlobalNetworkPolicy//sec.p");
  assert.equal((item.updates[0]?.value as Policy | undefined)?.tier, "sec");
});

test("parseStreamLine() names keys that nobody knows, and takes the rest", () => {
  const item = parseStreamLine(
    '[{"key":"/calico/v1/policy/profile/N/tags","value":[]},{"key":"/calico/v1/config/A","value":"b"}]',
  );
  assert.ok(item.type === "updates");
  assert.deepEqual([item.updates.length, item.unknownKeys], [1, ["/calico/v1/policy/profile/N/tags"]]);
});

test("parseStreamLine() says what is wrong with a line", () => {
  for (const [text, message] of [
    ["{", /^not JSON/],
    ["7", /no "key"/],
    ['{"value":1}', /no "key"/],
    ['{"status":"ready"}', /status is "ready", expected/],
  ] as const) {
    const item = parseStreamLine(text);
    assert.match(item.type === "bad" ? item.message : "", message, text);
  }
});
