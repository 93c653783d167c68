import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger } from "@bulrush/service";
import type { Item } from "../driver/driver.ts";
import { type ListStep, ScriptedDriver, scriptedItem } from "./scripted-driver.ts";
import { createSyncer, type KindReport } from "./syncer.ts";

const START_MS = 1_000_000;
const iso = (ms: number): string => new Date(ms).toISOString();

function policy(name: string, revision: string, selector: string): Item {
  return scriptedItem("NetworkPolicy", name, revision, { selector, ingress: [{ action: "Allow" }] }, "ns");
}

/** A felix syncer whose policies go by these steps, started at `START_MS`. */
async function start(...steps: ListStep[]) {
  const clock = new ManualClock(START_MS);
  const driver = new ScriptedDriver();
  const logger = memoryLogger();
  const callbacks = { onStatusUpdated: () => undefined, onUpdates: () => undefined };
  driver.lists.set("NetworkPolicy", steps);
  const syncer = createSyncer("felix", { driver, clock, callbacks, logger });
  syncer.start();
  await clock.advance(0);
  const report = (): KindReport => {
    const found = syncer.report().find(({ kind }) => kind === "NetworkPolicy");
    assert.ok(found !== undefined);
    return found;
  };
  return { clock, driver, logger, syncer, report };
}

test("report() says why a kind is not in order, with its code, and since when it has not been, whatever it was at first", async () => {
  const forbidden: ListStep = { error: "DATASTORE_UNAUTHORIZED" };
  const h = await start({ revision: "5" }, forbidden, { error: "DATASTORE_TIMEOUT" }, { revision: "9" });
  assert.deepEqual([h.report().reason, h.report().code, h.report().sinceMs], [undefined, undefined, undefined]);
  await h.clock.advance(10_000);
  h.driver.watchErrors.set("NetworkPolicy", ["DATASTORE_EXPIRED"]);
  h.driver.stream("NetworkPolicy").end();
  // Refused; then two lists that fail, each for another reason.
  await h.clock.advance(500);
  assert.deepEqual(
    [h.report().reason, h.report().code],
    ["List failed: DATASTORE_UNAUTHORIZED", "DATASTORE_UNAUTHORIZED"],
  );
  const since = h.report().sinceMs;
  assert.equal(since, START_MS + 10_000);
  await h.clock.advance(1000);
  assert.deepEqual(
    [h.report().reason, h.report().code, h.report().sinceMs],
    ["List failed: DATASTORE_TIMEOUT", "DATASTORE_TIMEOUT", since],
  );
  await h.clock.advance(1000);
  assert.deepEqual([h.report().status, h.report().reason, h.report().sinceMs], ["in-sync", undefined, undefined]);
  assert.deepEqual(
    h.logger.records.map(({ level, message, fields }) => [level, message, fields["reason"], fields["since"]]),
    [
      ["warn", "Datastore kind is not in order", "Watch failed: DATASTORE_EXPIRED", iso(since)],
      ["warn", "Datastore kind is not in order", "List failed: DATASTORE_UNAUTHORIZED", iso(since)],
      ["warn", "Datastore kind is not in order", "List failed: DATASTORE_TIMEOUT", iso(since)],
      ["info", "Datastore kind is in order again", "List failed: DATASTORE_TIMEOUT", iso(since)],
    ],
  );
});

test("report() has the reason of an empty list, or none, by the time that the kind is in sync", async () => {
  const clock = new ManualClock(START_MS);
  const driver = new ScriptedDriver();
  driver.lists.set("CalicoNodeStatus", [{ error: "DATASTORE_NOT_FOUND" }, { revision: "1" }]);
  const reasons: (string | undefined)[] = [];
  const syncer = createSyncer("node-status", {
    driver,
    clock,
    callbacks: {
      onStatusUpdated: (status) => {
        if (status === "in-sync") reasons.push(syncer.report()[0]?.code);
      },
      onUpdates: () => undefined,
    },
  });
  syncer.start();
  await clock.advance(0);
  assert.deepEqual(reasons, ["DATASTORE_NOT_FOUND"]);
  await clock.advance(30 * 60_000);
  assert.equal(syncer.report()[0]?.reason, undefined);
});

test("report() has no code before the first list has ended, and the log says nothing of that list", async () => {
  const clock = new ManualClock(START_MS);
  const logger = memoryLogger();
  const callbacks = { onStatusUpdated: () => undefined, onUpdates: () => undefined };
  const syncer = createSyncer("node-status", { driver: new ScriptedDriver(), clock, callbacks, logger });
  const [before] = syncer.report();
  assert.deepEqual([before?.reason, before?.sinceMs, before?.code], ["Not listed yet", START_MS, undefined]);
  syncer.start();
  await clock.advance(0);
  assert.deepEqual([syncer.report()[0]?.status, syncer.report()[0]?.reason], ["in-sync", undefined]);
  assert.deepEqual(logger.records, []);
});

test("report() counts what cannot be used as written, names the oldest and since when, until it is mended", async () => {
  const h = await start({ pages: [[policy("good", "1", "all()"), policy("bad", "2", "a ==")]], revision: "2" });
  assert.equal(h.report().status, "in-sync");
  assert.deepEqual([h.report().unusable?.items, h.report().unusable?.sinceMs], [1, START_MS]);
  assert.deepEqual([h.report().unusable?.oldest.name, h.report().unusable?.oldest.field], ["bad", "spec.selector"]);
  await h.clock.advance(5000);
  const stream = h.driver.stream("NetworkPolicy");
  // Another fault of the same object does not make it younger.
  stream.emit({ type: "modified", item: policy("bad", "3", "b ==") });
  stream.emit({ type: "added", item: policy("worse", "4", "c ==") });
  await h.clock.advance(0);
  assert.deepEqual([h.report().unusable?.items, h.report().unusable?.sinceMs], [2, START_MS]);
  assert.deepEqual(
    h.syncer.problems().map(({ name, sinceMs }) => [name, sinceMs]),
    [
      ["bad", START_MS],
      ["worse", START_MS + 5000],
    ],
  );
  stream.emit({ type: "modified", item: policy("bad", "5", "b == 'c'") });
  await h.clock.advance(0);
  assert.deepEqual([h.report().unusable?.items, h.report().unusable?.sinceMs], [1, START_MS + 5000]);
  stream.emit({
    type: "deleted",
    item: { kind: "NetworkPolicy", namespace: "ns", name: "worse" },
    revision: "6",
  });
  await h.clock.advance(0);
  assert.equal(h.report().unusable, undefined);
});
