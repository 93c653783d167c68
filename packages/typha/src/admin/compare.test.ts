import assert from "node:assert/strict";
import { test } from "node:test";
import { hashValue } from "@bulrush/proto";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import { encodeText } from "../testing/text-frames.ts";
import { settingUpdate } from "../testing/updates.ts";
import type { Update } from "@bulrush/model";
import { compareWith, parseCompareQuestion } from "./compare.ts";

const hashOf = (path: string, value: unknown): string =>
  Buffer.from(hashValue(path, value), "latin1").toString("base64");

function emptyCache(): SnapshotCache {
  const yieldTurn = (): Promise<void> => Promise.resolve();
  return new SnapshotCache({ syncer: "felix", epoch: "e", nowMs: 0, encodeFrame: encodeText, yieldTurn });
}

test("compareWith() names what is another, missing, or still there, as of one sequence", () => {
  const cache = emptyCache();
  cache.publish({ updates: ["same=1@1", "other=1@1", "there=1@1"].map(settingUpdate), status: "in-sync", nowMs: 1 });
  const kvs = [
    { path: "same", hash: hashOf("same", "1") },
    { path: "other", hash: hashOf("other", "2") },
    { path: "missing", hash: hashOf("missing", "1") },
    { path: "there", hash: null },
    { path: "gone", hash: null },
  ];
  assert.deepEqual(compareWith(cache, { syncer: "felix", kvs }), {
    epoch: "e",
    sequence: 1,
    status: "in-sync",
    differing: ["other", "missing", "there"],
  });
});

/** A resource as a store gives it back. */
const STORED = {
  metadata: { name: "node-a", uid: "u", labels: { rack: "1", zone: "b" } },
  spec: { bgp: { asNumber: 64512 }, addresses: [{ address: "10.0.0.1", type: "InternalIP" }] },
};

const PARTS: readonly [name: string, includes: unknown, isHeld: boolean][] = [
  ["some of its fields", { metadata: { name: "node-a" }, spec: { bgp: { asNumber: 64512 } } }, true],
  ["an item of a list with fewer fields", { spec: { addresses: [{ address: "10.0.0.1" }] } }, true],
  ["a field that is empty, where there is one", { metadata: { labels: {} } }, true],
  ["a field that is empty, where there is none", { spec: { orchRefs: [] }, status: null }, true],
  ["another value", { spec: { bgp: { asNumber: 64513 } } }, false],
  ["a field that is not there", { spec: { bgp: { routeReflectorClusterID: "1.1.1.1" } } }, false],
  ["fewer items of a list", { spec: { addresses: [{ address: "10.0.0.1" }, { address: "10.0.0.2" }] } }, false],
  ["an item where there is none", { spec: { addresses: {}, bgp: [1] } }, false],
  ["a text in place of a field", { spec: "bgp" }, false],
];

for (const [name, includes, isHeld] of PARTS) {
  test(`compareWith() ${isHeld ? "finds" : "misses"} ${name} in a resource that is held`, () => {
    const cache = emptyCache();
    const update = { ...settingUpdate("node=1@1"), path: "node", value: STORED } as unknown as Update;
    cache.publish({ updates: [update], status: "in-sync", nowMs: 1 });
    const question = parseCompareQuestion({ syncer: "felix", kvs: [{ path: "node", includes }] });
    assert.ok(question !== undefined);
    assert.deepEqual(compareWith(cache, question).differing, isHeld ? [] : ["node"]);
  });
}

test("compareWith() misses a resource that is not there at all", () => {
  const kvs = [{ path: "node", includes: {} }];
  assert.deepEqual(compareWith(emptyCache(), { syncer: "felix", kvs }).differing, ["node"]);
});
