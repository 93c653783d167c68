import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { StatusStore } from "@bulrush/datastore";
import { memoryLogger, type MemoryLogger } from "@bulrush/service";
import { StatusReporter, type StatusSettings } from "./status-reporter.ts";

const HOST = "/calico/felix/v2/no-region/host/h/";
const SETTINGS: StatusSettings = {
  ReportingIntervalSecs: 30,
  ReportingTTLSecs: 90,
  EndpointReportingEnabled: true,
  EndpointReportingDelaySecs: 1,
  OpenstackRegion: "",
};

class FakeStore implements StatusStore {
  readonly held = new Map<string, string>();
  readonly calls: string[] = [];
  failure: Error | undefined;

  async put(key: string, value: string, _signal: AbortSignal, ttlSeconds?: number): Promise<void> {
    await this.#call(`put ${key.replace(HOST, "")}${ttlSeconds === undefined ? "" : ` for ${ttlSeconds} s`}`);
    this.held.set(key, value);
  }

  async delete(key: string): Promise<void> {
    await this.#call(`delete ${key.replace(HOST, "")}`);
    this.held.delete(key);
  }

  async list(prefix: string): Promise<ReadonlyMap<string, string>> {
    await this.#call("list");
    return new Map([...this.held].filter(([key]) => key.startsWith(prefix)));
  }

  close(): Promise<void> {
    return this.#call("close");
  }

  async #call(what: string): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    this.calls.push(what);
  }
}

interface Rig {
  readonly reporter: StatusReporter;
  readonly clock: ManualClock;
  readonly store: FakeStore;
  readonly logger: MemoryLogger;
  readonly pass: (seconds: number) => Promise<void>;
}

function rig(change: Partial<StatusSettings> = {}, hasStore = true): Rig {
  const clock = new ManualClock(1_000_000);
  const store = new FakeStore();
  const logger = memoryLogger();
  const reporter = new StatusReporter({
    hostname: "h",
    clock,
    random: () => 0.5,
    logger,
    settings: { ...SETTINGS, ...change },
    open: () => Promise.resolve(hasStore ? store : undefined),
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let left = seconds * 4; left > 0; left--) await clock.advance(250);
  };
  return { reporter, clock, store, logger, pass };
}

const workload = (name: string) => ({ orchestrator: "k8s", workload: `shop/${name}`, endpoint: "eth0" });
const up = (name: string) => ({ msg: "WorkloadEndpointStatusUpdate", id: workload(name), status: "up" }) as const;
const keyOf = (name: string): string => `workload/k8s/shop%2f${name}/endpoint/eth0`;

test("the process reports after 10 s and then at each interval, with and without an end", async () => {
  const { clock, pass, reporter, store } = rig({ EndpointReportingEnabled: false });
  await pass(9);
  assert.deepEqual(store.calls, []);
  await pass(2);
  assert.deepEqual(store.calls.splice(0), ["put status for 90 s", "put last_reported_status"]);
  const first = JSON.parse(store.held.get(`${HOST}status`) ?? "") as Record<string, unknown>;
  assert.deepEqual(first, { time: new Date(1_010_000).toISOString(), uptime: 10, first_update: true });
  await pass(31);
  assert.equal(store.calls.splice(0).length, 2);
  const second = JSON.parse(store.held.get(`${HOST}last_reported_status`) ?? "") as Record<string, unknown>;
  assert.deepEqual([second["first_update"], (second["uptime"] as number) >= 40], [false, true]);
  reporter.update({ ...SETTINGS, ReportingIntervalSecs: 0, EndpointReportingEnabled: false });
  await pass(100);
  assert.deepEqual(store.calls, []);
  assert.ok(clock.nowMs() > 0);
});

test("first_update stays until a write has worked, and a failure is said once", async () => {
  const { logger, pass, store } = rig({ EndpointReportingEnabled: false });
  store.failure = new Error("etcd is away");
  await pass(80);
  assert.deepEqual(
    logger.records.map(({ message }) => message),
    ["Report the status of this agent"],
  );
  store.failure = undefined;
  await pass(40);
  assert.match(store.held.get(`${HOST}status`) ?? "", /"first_update":true/);
});

test("endpoints are reported one a second, once the dataplane is in sync", async () => {
  const { pass, reporter, store } = rig({ ReportingIntervalSecs: 0 });
  reporter.onDataplane(up("a"));
  reporter.onDataplane({ msg: "HostEndpointStatusUpdate", id: "eth0", status: "error" });
  await pass(30);
  assert.deepEqual(store.calls, []);
  reporter.onDataplane({ msg: "DataplaneInSync" });
  await pass(1.25);
  assert.deepEqual(store.calls.splice(0), ["list"]);
  await pass(1.25);
  assert.deepEqual(store.calls.splice(0), [`put ${keyOf("a")}`]);
  await pass(1.25);
  assert.deepEqual(store.calls.splice(0), ["put endpoint/eth0"]);
  assert.equal(store.held.get(`${HOST}endpoint/eth0`), '{"status":"error"}');
  reporter.onDataplane({ msg: "WorkloadEndpointStatusRemove", id: workload("a") });
  await pass(3);
  assert.deepEqual(store.calls.splice(0), [`delete ${keyOf("a")}`]);
  await pass(60);
  assert.deepEqual(store.calls, []);
});

test("what is stored of this host's endpoints and is no more is deleted, and nothing else; after 180 ticks again", async () => {
  const { pass, reporter, store } = rig({ ReportingIntervalSecs: 0 });
  store.held.set(HOST + keyOf("old"), '{"status":"up"}');
  store.held.set(HOST + keyOf("a"), '{"status":"up"}');
  store.held.set(`${HOST}status`, "x");
  store.held.set("/calico/felix/v2/no-region/host/h2/endpoint/eth0", "x");
  reporter.onDataplane(up("a"));
  reporter.onDataplane({ msg: "DataplaneInSync" });
  await pass(10);
  assert.deepEqual(store.calls.splice(0), ["list", `delete ${keyOf("old")}`]);
  assert.equal(store.held.size, 3);
  store.held.delete(HOST + keyOf("a"));
  await pass(200);
  assert.deepEqual(store.calls, ["list", `put ${keyOf("a")}`]);
});

test("reports of endpoints begin when a setting asks for them, and a region is in the keys", async () => {
  const { pass, reporter, store } = rig({ ReportingIntervalSecs: 0, EndpointReportingEnabled: false });
  reporter.onDataplane(up("a"));
  reporter.onDataplane({ msg: "DataplaneInSync" });
  await pass(30);
  assert.deepEqual(store.calls, []);
  reporter.update({ ...SETTINGS, ReportingIntervalSecs: 0, OpenstackRegion: "north" });
  await pass(5);
  assert.deepEqual([...store.held.keys()], [`/calico/felix/v2/region-north/host/h/${keyOf("a")}`]);
});

test("where the datastore has no place for statuses nothing is reported, and that is said once", async () => {
  const { logger, pass, reporter } = rig({}, false);
  reporter.onDataplane(up("a"));
  reporter.onDataplane({ msg: "DataplaneInSync" });
  await pass(100);
  assert.deepEqual(
    logger.records.map(({ level }) => level),
    ["debug"],
  );
  await reporter.stop();
});
