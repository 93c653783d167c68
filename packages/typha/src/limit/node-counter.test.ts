import assert from "node:assert/strict";
import { test } from "node:test";
import type { SyncStatus, Update } from "@bulrush/model";
import { NodeCounter } from "./node-counter.ts";

function node(name: string, type: Update["type"], value: object | undefined = {}): Update {
  const key = { type: "Resource", kind: "Node", namespace: "", name } as const;
  return { key, path: `/nodes/${name}`, value: value as Update["value"], revision: "1", type };
}

test("NodeCounter counts nodes once all are known, those that cannot be read too, and never forgets again", () => {
  const counter = new NodeCounter();
  const passed: (number | SyncStatus)[] = [];
  const callbacks = counter.before({
    onUpdates: (updates) => void passed.push(updates.length),
    onStatusUpdated: (status) => void passed.push(status),
  });
  const setting: Update = {
    key: { type: "GlobalConfig", name: "x" } as Update["key"],
    path: "/x",
    value: "1" as Update["value"],
    revision: "1",
    type: "new",
  };
  void callbacks.onStatusUpdated("resync");
  void callbacks.onUpdates([node("a", "new"), setting, node("b", "new", undefined)]);
  assert.equal(counter.count, undefined);
  void callbacks.onStatusUpdated("in-sync");
  assert.equal(counter.count, 2);
  void callbacks.onUpdates([node("a", "updated"), node("b", "deleted", undefined), node("c", "new")]);
  void callbacks.onStatusUpdated("resync");
  assert.equal(counter.count, 2);
  void callbacks.onUpdates([node("c", "deleted", undefined), node("c", "deleted", undefined)]);
  assert.equal(counter.count, 1);
  assert.deepEqual(passed, ["resync", 3, "in-sync", 3, "resync", 2]);
});
