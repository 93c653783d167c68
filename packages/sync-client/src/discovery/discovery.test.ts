import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { EndpointSliceResource } from "@bulrush/model";
import { formatServerAddress, type ServerAddress } from "../server-address.ts";
import { addressServers } from "./address-servers.ts";
import { type ServiceServers, serviceServers, type SliceEvent } from "./service-servers.ts";
import { sliceServers } from "./slice-servers.ts";

const WANTED = { serviceName: "calico-typha", portName: "calico-typha" };

type Endpoint = NonNullable<EndpointSliceResource["endpoints"]>[number];

function slice(name: string, endpoints: readonly Endpoint[], more: Partial<EndpointSliceResource> = {}) {
  const resource: EndpointSliceResource = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "kube-system", labels: { "kubernetes.io/service-name": "calico-typha" } },
    ports: [{ name: "calico-typha", protocol: "TCP", port: 5473 }],
    endpoints,
    ...more,
  };
  return resource;
}

function at(address: string, more: Partial<Endpoint> = {}): Endpoint {
  return { addresses: [address], conditions: { ready: true }, ...more };
}

function names(servers: readonly ServerAddress[]): string[] {
  return servers.map(
    (server) => `${formatServerAddress(server)}${server.nodeName === undefined ? "" : ` ${server.nodeName}`}`,
  );
}

const rows: readonly [title: string, slices: readonly EndpointSliceResource[], want: readonly string[]][] = [
  ["nothing in no slices", [], []],
  [
    "ready endpoints and their nodes",
    [slice("a", [at("10.0.0.1", { nodeName: "n1" }), at("fd00::1")])],
    ["10.0.0.1:5473 n1", "[fd00::1]:5473"],
  ],
  ["no endpoint that is not ready", [slice("a", [at("10.0.0.1", { conditions: { ready: false } })])], []],
  ["an endpoint of unknown readiness", [slice("a", [{ addresses: ["10.0.0.1"] }])], ["10.0.0.1:5473"]],
  ["one endpoint in two slices once", [slice("a", [at("10.0.0.1")]), slice("b", [at("10.0.0.1")])], ["10.0.0.1:5473"]],
  [
    "those of the slices that have the port",
    [slice("a", [at("10.0.0.1")]), slice("b", [at("10.0.0.2")], { ports: [{ port: 1 }] })],
    ["10.0.0.1:5473"],
  ],
  ["nothing of another Service", [slice("a", [at("10.0.0.1")], { metadata: { name: "a" } })], []],
];
for (const [title, slices, want] of rows)
  test(`sliceServers() finds ${title}`, () => assert.deepEqual(names(sliceServers(slices, WANTED)), want));

test("addressServers() takes an address as it is, and each address of a name, looked up each time", async () => {
  const asked: string[] = [];
  let answer = ["10.0.0.1", "fd00::1", "10.0.0.1"];
  const lookUp = (name: string): Promise<string[]> => {
    asked.push(name);
    return answer.length === 0 ? Promise.reject(new Error("ENOTFOUND")) : Promise.resolve(answer);
  };
  assert.deepEqual(names(await addressServers("10.0.0.9:5473", lookUp).list()), ["10.0.0.9:5473"]);
  assert.deepEqual(names(await addressServers("[fd00::9]:5473", lookUp).list()), ["[fd00::9]:5473"]);
  assert.deepEqual(asked, []);
  const byName = addressServers("typha.example:5473", lookUp);
  assert.deepEqual(names(await byName.list()), ["10.0.0.1:5473", "[fd00::1]:5473"]);
  answer = ["10.0.0.2"];
  assert.deepEqual(names(await byName.list()), ["10.0.0.2:5473"]);
  answer = [];
  await assert.rejects(byName.list(), /ENOTFOUND/);
  assert.deepEqual(asked, ["typha.example", "typha.example", "typha.example"]);
  assert.throws(() => addressServers("typha.example"), { code: "SYNC_CLIENT_BAD_ADDRESS" });
});

/** An API that does what it is told. */
class FakeApi {
  readonly calls: string[] = [];
  slices: readonly EndpointSliceResource[] | Error = [];
  #send: ((events: readonly SliceEvent[] | undefined) => void) | undefined;

  list(): Promise<{ slices: readonly EndpointSliceResource[]; revision: string }> {
    this.calls.push("list");
    if (this.slices instanceof Error) return Promise.reject(this.slices);
    return Promise.resolve({ slices: this.slices, revision: `r${this.calls.length}` });
  }

  async *watch(revision: string): AsyncGenerator<readonly SliceEvent[], void, void> {
    this.calls.push(`watch ${revision}`);
    for (;;) {
      const events = await new Promise<readonly SliceEvent[] | undefined>((resolve) => (this.#send = resolve));
      if (events === undefined) return;
      yield events;
    }
  }

  /** undefined: the stream ends. */
  send(events: readonly SliceEvent[] | undefined): void {
    this.#send?.(events);
  }
}

function follow(api: FakeApi): { servers: ServiceServers; clock: ManualClock; changes: () => number } {
  const clock = new ManualClock();
  const servers = serviceServers({ ...WANTED, feed: api, clock, random: () => 0 });
  let changes = 0;
  servers.follow(() => void changes++);
  return { servers, clock, changes: () => changes };
}

test("serviceServers() lists once, and then follows what changes", async () => {
  const api = new FakeApi();
  api.slices = [slice("a", [at("10.0.0.1")])];
  const { servers, clock, changes } = follow(api);
  assert.deepEqual(names(await servers.list()), ["10.0.0.1:5473"]);
  await clock.advance(0);
  api.send([{ type: "set", slice: slice("b", [at("10.0.0.2")]) }]);
  await clock.advance(0);
  assert.deepEqual(names(await servers.list()), ["10.0.0.1:5473", "10.0.0.2:5473"]);
  const before = changes();
  api.send([{ type: "set", slice: slice("b", [at("10.0.0.2"), at("10.0.0.3", { conditions: { ready: false } })]) }]);
  await clock.advance(0);
  assert.equal(changes(), before, "what is not ready is no news");
  api.send([{ type: "deleted", name: "a" }]);
  await clock.advance(0);
  assert.deepEqual(names(await servers.list()), ["10.0.0.2:5473"]);
  assert.equal(changes(), before + 1);
  assert.deepEqual(api.calls, ["list", "watch r1"]);
  servers.close();
});

test("serviceServers() lists anew after the end of a watch, and keeps what it knows while the API is away", async () => {
  const api = new FakeApi();
  api.slices = [slice("a", [at("10.0.0.1")])];
  const { servers, clock } = follow(api);
  await servers.list();
  await clock.advance(0);
  api.slices = new Error("connection refused");
  api.send(undefined);
  await clock.advance(1000);
  assert.deepEqual(api.calls, ["list", "watch r1", "list"]);
  assert.deepEqual(names(await servers.list()), ["10.0.0.1:5473"]);
  api.slices = [];
  // One second, doubled after each failure.
  await clock.advance(2000);
  assert.equal(api.calls.at(-2), "list");
  assert.deepEqual(await servers.list(), []);
  servers.close();
});

test("serviceServers() fails with what the API says until it has a first list, and never waits for ever", async () => {
  const api = new FakeApi();
  api.slices = new Error("endpointslices is forbidden");
  const { servers, clock } = follow(api);
  await assert.rejects(servers.list(), /EndpointSlices of calico-typha: endpointslices is forbidden/);
  servers.close();
  const silent = serviceServers({
    ...WANTED,
    feed: { list: () => new Promise(() => {}), watch: () => assert.fail("no list, no watch") },
    clock,
    random: () => 0,
  });
  const listed = assert.rejects(silent.list(), /no answer in 10 s/);
  await clock.advance(10_000);
  await listed;
  silent.close();
  assert.equal(clock.pending, 0);
});
