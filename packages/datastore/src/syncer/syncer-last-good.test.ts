import assert from "node:assert/strict";
import { test } from "node:test";
import { compareStrings } from "@bulrush/base";
import type { Resource } from "@bulrush/model";
import { memoryLogger } from "@bulrush/service";
import type { Item } from "../driver/driver.ts";
import type { Problem } from "../problem.ts";
import { scriptedItem } from "./scripted-driver.ts";
import { harness, errorEvent } from "./syncer-harness.ts";

function policy(revision: string, selector: string, ingress: readonly object[] = [{ action: "Allow" }]): Item {
  return scriptedItem("NetworkPolicy", "p", revision, { selector, ingress }, "ns");
}

test("an unreadable update of a known policy is held back and reported; the next good one goes out", async () => {
  const problems: string[][] = [];
  const logger = memoryLogger();
  const onProblems = (list: readonly Problem[]) => problems.push(list.map((p) => p.effect ?? ""));
  const h = harness({ type: "felix", logger, onProblems });
  h.driver.lists.set("NetworkPolicy", [{ pages: [[policy("1", "a == 'b'")]], revision: "1" }]);
  h.syncer.start();
  await h.advance(0);
  assert.ok(h.take().includes("new p 1"));
  const stream = h.driver.stream("NetworkPolicy");
  stream.emit({ type: "modified", item: policy("2", "a ==") });
  await h.advance(0);
  assert.deepEqual(h.take(), []);
  assert.deepEqual(problems, [["the last good version stays in force"]]);
  assert.deepEqual(
    h.syncer.problems().map(({ kind, namespace, name, field }) => [kind, namespace, name, field]),
    [["NetworkPolicy", "ns", "p", "spec.selector"]],
  );
  stream.emit({ type: "modified", item: policy("3", "a == 'c'") });
  await h.advance(0);
  assert.deepEqual(h.take(), ["updated p 3"]);
  assert.deepEqual(h.syncer.problems(), []);
  assert.deepEqual(
    logger.records.map(({ level, message }) => [level, message]),
    [
      ["error", "Stored data is not usable as written"],
      ["info", "Stored data has no problem any more"],
    ],
  );
});

test("a cluster policy that was read well keeps that version, also where a new one like it would be none", async () => {
  const SPEC = { tier: "kube-admin", order: 1, types: ["Ingress"], ingress: [{ action: "Deny" }] };
  const key = { kind: "KubernetesClusterNetworkPolicy", namespace: "", name: "p" } as const;
  const value: Resource = {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkPolicy",
    metadata: { name: "p" },
    spec: SPEC,
  };
  const bad = [{ severity: "error", field: "spec.tier", message: "Expected Admin or Baseline" }] as const;
  const subject = { kind: "ClusterNetworkPolicy", namespace: "", name: "p" };
  const item = (revision: string, more: Partial<Item>): Item => ({ ...key, revision, value, subject, ...more });
  const h = harness({ type: "felix" });
  h.driver.lists.set(key.kind, [{ pages: [[item("1", {})]], revision: "1" }]);
  h.syncer.start();
  await h.advance(0);
  assert.ok(h.take().includes("new p 1"));
  const stream = h.driver.stream(key.kind);
  // A tier that there is not; a rule that had to be dropped.
  stream.emit({ type: "modified", item: item("2", { value: undefined, issues: bad }) });
  stream.emit({
    type: "modified",
    item: item("3", { value: { ...value, spec: { ...SPEC, ingress: [] } }, issues: bad }),
  });
  await h.advance(0);
  assert.deepEqual(h.take(), []);
  assert.deepEqual(
    h.syncer.problems().map(({ effect }) => effect),
    ["the last good version stays in force"],
  );
  stream.emit({ type: "deleted", item: key, revision: "4" });
  stream.emit({ type: "added", item: item("5", { value: undefined, issues: bad }) });
  await h.advance(0);
  assert.deepEqual(h.take(), ["deleted p"]);
});

test("a policy that was never read well goes out in its closed form, each version of it", async () => {
  const h = harness({ type: "felix" });
  h.driver.lists.set("NetworkPolicy", [{ pages: [[policy("1", "a ==")]], revision: "1" }]);
  h.syncer.start();
  await h.advance(0);
  assert.ok(h.take().includes("new p 1"));
  const stream = h.driver.stream("NetworkPolicy");
  stream.emit({ type: "modified", item: policy("2", "a ==", [{ action: "Deny" }]) });
  await h.advance(0);
  assert.deepEqual(h.take(), ["updated p 2"]);
  stream.emit({ type: "deleted", item: policy("2", ""), revision: "3" });
  await h.advance(0);
  assert.deepEqual(h.take(), ["deleted p"]);
  assert.deepEqual(h.syncer.problems(), []);
});

test("a network set keeps its last good version, as a rule may deny by it; one never read well has what is readable", async () => {
  const set = (name: string, revision: string, nets: unknown): Item =>
    scriptedItem("GlobalNetworkSet", name, revision, { nets });
  const h = harness({ type: "felix" });
  h.driver.lists.set("GlobalNetworkSet", [
    { pages: [[set("a", "1", ["10.0.0.0/8"]), set("b", "1", ["10.0.0.0/8", "x"])]], revision: "1" },
  ]);
  h.syncer.start();
  await h.advance(0);
  const first = h.take();
  assert.ok(first.includes("new a 1") && first.includes("new b 1"));
  const effects = (): string[] =>
    h.syncer
      .problems()
      .map(({ name, effect }) => `${name} ${effect}`)
      .sort(compareStrings);
  assert.deepEqual(effects(), ["b left out"]);
  const stream = h.driver.stream("GlobalNetworkSet");
  for (const nets of [["10.0.0.0/88"], "10.0.0.0/8", ["1.2.3.4", null]]) {
    stream.emit({ type: "modified", item: set("a", "2", nets) });
    stream.emit({ type: "modified", item: set("b", "2", ["y"]) });
    await h.advance(0);
    assert.ok(!h.take().some((line) => line.includes(" a ")));
    assert.deepEqual(effects(), ["a the last good version stays in force", "b left out"]);
  }
  stream.emit({ type: "modified", item: set("a", "3", []) });
  await h.advance(0);
  assert.ok(h.take().includes("updated a 3"));
});

test("settings, the ready flag and profiles keep their last good values field by field", async () => {
  const h = harness({ type: "felix" });
  const items = (revision: string, ready: unknown, prefix: unknown, mtu: unknown, labels: unknown): readonly Item[] => [
    scriptedItem("ClusterInformation", "default", revision, { datastoreReady: ready }),
    scriptedItem("FelixConfiguration", "default", revision, { interfacePrefix: prefix, vxlanMTU: mtu }),
    scriptedItem("Profile", "p", revision, { labelsToApply: labels }),
  ];
  for (const item of items("1", true, "tap", 1400, { a: "b" }))
    h.driver.lists.set(item.kind, [{ pages: [[item]], revision: "1" }]);
  h.syncer.start();
  await h.advance(0);
  h.take();
  const change = async (next: readonly Item[]): Promise<string[]> => {
    for (const item of next) h.driver.stream(item.kind).emit({ type: "modified", item });
    await h.advance(0);
    return h.take().map((line) => line.replace(/ \d+$/, ""));
  };
  const effects = (): string[] =>
    h.syncer
      .problems()
      .map(({ field, effect }) => `${field}: ${effect}`)
      .sort(compareStrings);
  const kept = "the last good version stays in force";
  assert.deepEqual(await change(items("2", "perhaps", 5, 1500, { a: 1 })), ["updated VXLANMTU"]);
  assert.deepEqual(effects(), [
    `spec.datastoreReady: ${kept}`,
    `spec.interfacePrefix: ${kept}`,
    `spec.labelsToApply.a: ${kept}`,
  ]);
  // What was kept is still known: unset, it goes.
  const gone = await change(items("3", true, undefined, 1500, {}));
  assert.ok(gone.includes("deleted InterfacePrefix"));
  assert.deepEqual(effects(), []);
});

test("a resync does not delete a policy whose present version is unreadable", async () => {
  const h = harness({ type: "felix" });
  h.driver.lists.set("NetworkPolicy", [
    { pages: [[policy("1", "a == 'b'")]], revision: "1" },
    { pages: [[policy("2", "a ==")]], revision: "2" },
    { pages: [[]], revision: "3" },
  ]);
  h.syncer.start();
  await h.advance(0);
  h.take();
  h.driver.stream("NetworkPolicy").emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync", "status in-sync"]);
  assert.equal(h.syncer.problems().length, 1);
  h.driver.stream("NetworkPolicy").emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync", "deleted p", "status in-sync"]);
  assert.deepEqual(h.syncer.problems(), []);
});
