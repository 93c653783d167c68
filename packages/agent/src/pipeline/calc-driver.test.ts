import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { CalcMessage } from "@bulrush/calc";
import { formatKey, type SyncStatus, type Update } from "@bulrush/model";
import { CalcDriver, type RunParts } from "./calc-driver.ts";

/** A KV whose key is short to write: a global setting. */
function kv(name: string): Update {
  const key = { type: "GlobalConfig", name } as const;
  return { key, path: formatKey(key), value: "v", revision: "", type: "new" };
}

const gone = (name: string): Update => ({ ...kv(name), value: undefined, type: "deleted" });

interface Rig {
  readonly driver: CalcDriver;
  readonly clock: ManualClock;
  /** What the graph and the dataplane saw, in order. */
  readonly log: string[];
  /** Lets the dataplane take the oldest send that waits. */
  take(): Promise<void>;
  /** Queued for the graph's next flush. */
  readonly queue: CalcMessage[];
  ready: boolean;
}

function rig(options: { slowDataplane?: boolean } = {}): Rig {
  const clock = new ManualClock(1000);
  const log: string[] = [];
  const waiting: (() => void)[] = [];
  const queue: CalcMessage[] = [];
  const parts: RunParts = {
    graph: {},
    filter: (graph) => graph,
    dataplane: {
      send(messages) {
        log.push(
          `send ${messages.map((message) => (message.msg === "RouteRemove" ? message.dst : message.msg)).join(" ")}`,
        );
        return options.slowDataplane === true ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve();
      },
      mark: (sequence) => void log.push(`mark ${sequence}`),
    },
  };
  const state = { ready: true };
  const driver = new CalcDriver({
    hostname: "h",
    clock,
    begin: ({ updates: contents }) => {
      log.push(`begin ${[...contents].length}`);
      return Promise.resolve(state.ready ? parts : undefined);
    },
    events: {
      onConfig: () => void log.push("config"),
      onEncapsulation: () => void log.push("encapsulation"),
      onDatastoreNotReady: () => void log.push("not ready"),
    },
    makeGraph: ({ sink }) => ({
      stats: {
        hosts: 0,
        workloadEndpoints: 0,
        hostEndpoints: 0,
        policies: 0,
        profiles: 0,
        tiers: 0,
        applicationLayerPolicies: 0,
      },
      onUpdates: (updates) =>
        void log.push(`graph ${updates.map(({ key }) => ("name" in key ? key.name : "")).join(" ")}`),
      onStatusUpdated: (status) => void log.push(`graph ${status}`),
      flush() {
        log.push("flush");
        for (const message of queue.splice(0)) sink(message);
      },
    }),
  });
  return {
    driver,
    clock,
    log,
    queue,
    async take() {
      waiting.shift()?.();
      await clock.advance(0);
    },
    get ready() {
      return state.ready;
    },
    set ready(value) {
      state.ready = value;
    },
  };
}

const message = (dst: string): CalcMessage => ({ msg: "RouteRemove", dst });

async function toInSync(setup: Rig, updates: readonly Update[] = []): Promise<void> {
  await setup.driver.onStatusUpdated("resync");
  await setup.driver.onUpdates(updates);
  await setup.driver.onStatusUpdated("in-sync");
}

test("CalcDriver gathers the newest values until in-sync, then starts, feeds and flushes at once", async () => {
  const setup = rig();
  await setup.driver.onStatusUpdated("resync");
  await setup.driver.onUpdates([kv("a"), kv("b")]);
  await setup.driver.onUpdates([gone("b"), kv("c")]);
  assert.deepEqual(setup.log, []);
  assert.deepEqual([setup.driver.running, setup.driver.collected], [false, 2]);
  setup.queue.push(message("r1"));
  setup.driver.onSequence(7);
  await setup.driver.onStatusUpdated("in-sync");
  assert.deepEqual(setup.log, ["begin 2", "graph resync", "graph a c", "graph in-sync", "flush", "send r1", "mark 7"]);
  assert.equal(setup.driver.running, true);
});

test("CalcDriver asks again after each change, while the datastore is not ready", async () => {
  const setup = rig();
  setup.ready = false;
  await toInSync(setup, [kv("a")]);
  assert.deepEqual(setup.log, ["begin 1"]);
  setup.ready = true;
  await setup.driver.onUpdates([kv("Ready")]);
  assert.deepEqual(setup.log.slice(1), ["begin 2", "graph resync", "graph a Ready", "graph in-sync", "flush"]);
});

test("CalcDriver flushes a quiet update at once and a burst at most once a tick", async () => {
  const setup = rig();
  await toInSync(setup);
  await setup.clock.advance(200);
  setup.log.length = 0;
  for (let index = 0; index < 13; index++) await setup.driver.onUpdates([kv(`k${index}`)]);
  // Ten flushes were saved up in the quiet; the rest waits for the tick.
  assert.equal(setup.log.filter((line) => line === "flush").length, 10);
  assert.equal(setup.log.at(-1), "graph k12");
  await setup.clock.advance(10);
  assert.equal(setup.log.at(-1), "flush");
  assert.equal(setup.log.filter((line) => line === "flush").length, 11);
  assert.equal(setup.clock.pending, 0);
});

test("CalcDriver takes updates but does not flush, while the dataplane is busy", async () => {
  const setup = rig({ slowDataplane: true });
  setup.queue.push(message("r1"));
  await toInSync(setup);
  setup.log.length = 0;
  setup.queue.push(message("r2"));
  await setup.driver.onUpdates([kv("a")]);
  await setup.driver.onUpdates([kv("b")]);
  await setup.clock.advance(1000);
  assert.deepEqual(setup.log, ["graph a", "graph b"]);
  await setup.take();
  assert.deepEqual(setup.log.slice(2), ["flush", "send r2"]);
});

test("onSequence() marks at once what needs no flush, and after the flush what does", async () => {
  const setup = rig();
  await toInSync(setup);
  setup.log.length = 0;
  setup.driver.onSequence(1);
  assert.deepEqual(setup.log, ["mark 1"]);
  // No flush is saved up: the first one took the only one.
  await setup.driver.onUpdates([kv("a")]);
  setup.driver.onSequence(2);
  setup.driver.onSequence(3);
  assert.deepEqual(setup.log, ["mark 1", "graph a"]);
  setup.queue.push(message("r1"));
  await setup.clock.advance(10);
  assert.deepEqual(setup.log.slice(2), ["flush", "send r1", "mark 3"]);
});

test("CalcDriver keeps the datastore's own messages from the dataplane", async () => {
  const setup = rig();
  setup.queue.push(
    { msg: "ConfigUpdate", config: new Map(), source_to_raw_config: new Map() },
    {
      msg: "Encapsulation",
      ipip_enabled: false,
      vxlan_enabled: false,
      vxlan_enabled_v6: false,
      no_encap_needed: false,
    },
    { msg: "InSync" },
    { msg: "DatastoreNotReady" },
  );
  await toInSync(setup);
  assert.deepEqual(setup.log.slice(-5), ["flush", "config", "encapsulation", "not ready", "send Encapsulation InSync"]);
});

test("CalcDriver passes later statuses on and sends nothing after stop()", async () => {
  const setup = rig();
  await toInSync(setup);
  setup.log.length = 0;
  for (const status of ["resync", "in-sync"] satisfies SyncStatus[]) await setup.driver.onStatusUpdated(status);
  assert.deepEqual(
    setup.log.filter((line) => line.startsWith("graph")),
    ["graph resync", "graph in-sync"],
  );
  setup.driver.stop();
  setup.log.length = 0;
  await setup.driver.onUpdates([kv("a")]);
  await setup.driver.onStatusUpdated("resync");
  setup.driver.onSequence(9);
  await setup.clock.advance(100);
  assert.deepEqual(setup.log, []);
});
