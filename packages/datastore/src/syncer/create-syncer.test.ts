import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@bulrush/model";
import type { Item } from "../driver/driver.ts";
import { scriptedItem } from "./scripted-driver.ts";
import { createSyncer } from "./syncer.ts";
import { harness, errorEvent } from "./syncer-harness.ts";

const FELIX_KINDS = 23;

for (const [type, kinds] of [
  ["felix", FELIX_KINDS],
  ["bgp", 6],
  ["tunnel-ip-allocation", 2],
  ["node-status", 1],
] as const) {
  test(`createSyncer() follows ${kinds} kinds for ${type}`, async () => {
    const h = harness({ type });
    h.syncer.start();
    await h.advance(0);
    assert.equal(new Set(h.driver.takeLog().filter((line) => line.startsWith("list"))).size, kinds);
    assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "status in-sync"]);
    await h.syncer.stop();
  });
}

test("createSyncer() lists no IPAM kind where the driver says that blocks come from the pod CIDRs of nodes", async () => {
  for (const type of ["felix", "bgp"] as const) {
    const h = harness({ type });
    h.driver.usePodCIDR = true;
    const syncer = createSyncer(type, {
      driver: h.driver,
      clock: h.clock,
      callbacks: { onStatusUpdated: () => {}, onUpdates: () => {} },
    });
    syncer.start();
    await h.advance(0);
    const listed = h.driver.takeLog().join("\n");
    assert.match(listed, /list Node /);
    assert.doesNotMatch(listed, /IPAMBlock|BlockAffinity/);
    await syncer.stop();
  }
});

test("a block that left its node's list while the watch was down is deleted by the next full list", async () => {
  const h = harness();
  h.driver.usePodCIDR = true;
  const deleted: string[] = [];
  const syncer = createSyncer("felix", {
    driver: h.driver,
    clock: h.clock,
    callbacks: {
      onStatusUpdated: () => {},
      onUpdates: (updates) => {
        for (const { path, type } of updates) if (type === "deleted") deleted.push(path);
      },
    },
  });
  const node = (revision: string, ...podCIDRs: string[]): Item => {
    const item = scriptedItem("Node", "n", revision);
    return { ...item, value: { ...(item.value as Resource), status: { podCIDRs } } };
  };
  h.driver.lists.set("Node", [
    { pages: [[node("1", "10.0.0.0/24", "10.0.1.0/24")]], revision: "1" },
    { pages: [[node("2", "10.0.0.0/24")]], revision: "2" },
  ]);
  syncer.start();
  await h.advance(0);
  h.driver.stream("Node").emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(deleted, ["/calico/ipam/v2/assignment/ipv4/block/10.0.1.0-24"]);
});
