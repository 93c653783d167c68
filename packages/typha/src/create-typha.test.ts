import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "@bulrush/base";
import { DatastoreError, openDatastore } from "@bulrush/datastore";
import type { SyncerType } from "@bulrush/proto";
import { createMetrics, HealthAggregator, type MemoryLogger, memoryLogger, type Metrics } from "@bulrush/service";
import type { CachesView, ClientsView, StatusView } from "./admin/views.ts";
import { loadTyphaConfig, RANDOM_PORT } from "./config/load-typha-config.ts";
import { createTypha, type Typha, type TyphaDependencies } from "./create-typha.ts";
import { certificateFile, clientTls, dial, testHello } from "./testing/websocket-client.ts";

const POLICY = (name: string, order: number): string => `
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata: {name: ${name}}
spec: {order: ${order}, selector: "all()", types: [Ingress], ingress: [{action: Allow}]}
`;

interface Started {
  readonly typha: Typha;
  readonly directory: string;
  readonly port: number;
  readonly adminPort: number;
  readonly health: HealthAggregator;
  readonly logger: MemoryLogger;
  readonly metrics: Metrics;
}

async function start(
  t: TestContext,
  overrides: Partial<TyphaDependencies> = {},
  settings: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const directory = mkdtempSync(join(tmpdir(), "typha-test-"));
  writeFileSync(join(directory, "a.yaml"), POLICY("first", 1));
  const clock = systemClock({ keepAlive: true });
  const logger = memoryLogger();
  const health = new HealthAggregator(clock);
  const metrics = createMetrics();
  const { values } = loadTyphaConfig({
    env: {
      TYPHA_SERVERKEYFILE: certificateFile("server.key"),
      TYPHA_SERVERCERTFILE: certificateFile("server.crt"),
      TYPHA_CAFILE: certificateFile("ca.crt"),
      TYPHA_CLIENTCN: "typha-client",
      TYPHA_SHUTDOWNTIMEOUTSECS: "0.2",
      ...settings,
    },
  });
  const config = { ...values, ServerHost: "127.0.0.1", ServerPort: RANDOM_PORT, AdminPort: RANDOM_PORT };
  const typha = createTypha(config, {
    clock,
    random: Math.random,
    newEpoch: () => "epoch-1",
    logger,
    metrics,
    health,
    openDatastore: (onProblems) =>
      openDatastore({ type: "file", directory, debounceMs: 1 }, { clock, logger, onProblems }),
    serverName: "typha-test",
    ...overrides,
  });
  t.after(async () => {
    await typha.stop();
    rmSync(directory, { recursive: true });
  });
  typha.start();
  const { port } = await typha.listening;
  const adminPort = (await typha.adminListening)?.port ?? 0;
  return { typha, directory, port, adminPort, health, logger, metrics };
}

function fetchJson<T>(port: number, path: string): Promise<T> {
  return new Promise((resolve, reject) => {
    get({ port, host: "127.0.0.1", path, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += String(chunk)));
      response.on("end", () => resolve(JSON.parse(text) as T));
    }).on("error", reject);
  });
}

test("createTypha() serves a directory over mutual TLS, tells what happens, and ends with a goodbye", async (t) => {
  const { typha, directory, port, adminPort, health, metrics } = await start(t);
  const client = dial(port, clientTls("client-cn"), testHello("node-1"));
  const welcome = await client.next("welcome");
  assert.deepEqual([welcome.epoch, welcome.serverName], ["epoch-1", "typha-test"]);
  await client.when((message) => message.type === "status" && message.status === "in-sync");
  const paths = client.messages.flatMap((message) => ("kvs" in message ? message.kvs.map((kv) => kv.path) : []));
  assert.ok(paths.includes("/calico/v1/policy/GlobalNetworkPolicy//first"), paths.join());
  assert.ok(health.summary().ready, health.summary().text);

  writeFileSync(join(directory, "b.yaml"), POLICY("second", 2));
  const delta = await client.when(
    (message) => message.type === "delta" && message.kvs.some((kv) => kv.path.endsWith("/second")),
  );
  client.send({ type: "ack", sequence: delta.type === "delta" ? delta.sequence : 0 });

  let clients: ClientsView;
  do {
    clients = await fetchJson<ClientsView>(adminPort, "/api/v1/clients");
  } while (clients.clients[0]?.appliedSequence === null);
  const [view] = clients.clients;
  assert.equal(clients.clients.length, 1);
  assert.equal(view?.hostname, "node-1");
  assert.equal(view?.appliedSequence, view?.serverSequence);
  assert.equal(view?.lagMs, 0);
  assert.match(await metrics.text(), /typha_connections_streaming\{syncer="felix"\} 1/);

  const stopped = typha.stop();
  assert.match(health.summary().text, /draining/);
  assert.ok(!health.summary().ready);
  assert.equal((await client.next("goodbye")).code, "draining");
  assert.equal((await client.closed).code, 1001);
  await stopped;
  const again = dial(port, clientTls("client-cn"), testHello("node-1"));
  assert.match(String((await again.closed).error?.message), /ECONNREFUSED/);
});

const POOL = `
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: pool}
spec: {cidr: 10.1.0.0/16}
---
apiVersion: projectcalico.org/v3
kind: Node
metadata: {name: node-1}
spec: {bgp: {ipv4Address: 10.0.0.1/24}}
---
apiVersion: projectcalico.org/v3
kind: BGPFilter
metadata: {name: filter}
spec: {exportV4: [{action: Accept}]}
---
apiVersion: projectcalico.org/v3
kind: CalicoNodeStatus
metadata: {name: status}
spec: {node: node-1, classes: [Agent], updatePeriodSeconds: 10}
`;

/** What the syncer of each type makes of the manifests of these tests. */
const STREAMS: Readonly<Record<SyncerType, { readonly has: RegExp; readonly hasNot: RegExp }>> = {
  felix: { has: /policy\/GlobalNetworkPolicy.*ipam\/v4\/pool/s, hasNot: /bgpfilters|caliconodestatuses/ },
  bgp: { has: /bgpfilters\/filter/, hasNot: /GlobalNetworkPolicy|caliconodestatuses/ },
  "tunnel-ip-allocation": { has: /ippools\/pool|ipam\/v4\/pool/, hasNot: /GlobalNetworkPolicy|bgpfilters/ },
  "node-status": { has: /caliconodestatuses\/status/, hasNot: /nodes\/node-1|pool/ },
};

test("createTypha() serves four streams on one port, each client the one that its hello names", async (t) => {
  const { directory, port, adminPort, health } = await start(t);
  writeFileSync(join(directory, "pool.yaml"), POOL);
  for (const [syncer, { has, hasNot }] of Object.entries(STREAMS)) {
    const hello = { ...testHello(`node-${syncer}`), syncer: syncer as SyncerType };
    const client = dial(port, clientTls("client-cn"), hello);
    assert.equal((await client.next("welcome")).syncer, syncer);
    const paths = (): string =>
      client.messages
        .flatMap((message) => ("kvs" in message ? message.kvs.map((kv) => kv.path) : []))
        .toSorted((a, b) => (a < b ? 1 : -1))
        .join("\n");
    await client.when(() => has.test(paths()));
    await client.when((message) => message.type === "status" && message.status === "in-sync");
    assert.doesNotMatch(paths(), hasNot);
    assert.match(health.summary().text, new RegExp(`${syncer}-cache`));
    client.socket.terminate();
    await client.closed;
  }
  const { caches } = await fetchJson<CachesView>(adminPort, "/api/v1/caches");
  assert.deepEqual(
    caches.map(({ syncer, status }) => [syncer, status]),
    Object.keys(STREAMS).map((syncer) => [syncer, "in-sync"]),
  );
});

test("createTypha() resumes a client that comes back with deltas alone", async (t) => {
  const { directory, port } = await start(t);
  const first = dial(port, clientTls("client-cn"), testHello("node-1"));
  await first.when((message) => message.type === "status" && message.status === "in-sync");
  const last = first.messages.findLast((message) => "sequence" in message);
  const sequence = last !== undefined && "sequence" in last ? last.sequence : 0;
  first.socket.terminate();
  await first.closed;
  writeFileSync(join(directory, "b.yaml"), POLICY("second", 2));
  const second = dial(port, clientTls("client-cn"), {
    ...testHello("node-1"),
    resume: { epoch: "epoch-1", sequence },
  });
  await second.when((message) => message.type === "delta" && message.kvs.some((kv) => kv.path.endsWith("/second")));
  assert.equal((await second.next("welcome")).resume, "deltas");
  const kvs = second.messages.flatMap((message) => ("kvs" in message ? message.kvs : []));
  assert.deepEqual(
    kvs.map((kv) => kv.path),
    ["/calico/v1/policy/GlobalNetworkPolicy//second"],
  );
});

test("createTypha() is up and says why it is not ready while the datastore cannot be opened", async (t) => {
  let tries = 0;
  const { port, adminPort, health, logger } = await start(t, {
    openDatastore: () => {
      tries++;
      return Promise.reject(new DatastoreError("The directory is on fire", { code: "DATASTORE_FAILED" }));
    },
  });
  const client = dial(port, clientTls("client-cn"), testHello("node-1"));
  assert.equal((await client.next("status")).status, "wait-for-ready");
  const { live, ready, text } = health.summary();
  assert.deepEqual([live, ready], [true, false]);
  assert.match(text, /felix-cache.*on fire/);
  while (tries < 2) await new Promise((resolve) => setImmediate(resolve));
  const errors = logger.records.filter(({ level }) => level === "error");
  assert.equal(errors.length, 1, "the same problem is said once");
  const status = await fetchJson<StatusView>(adminPort, "/api/v1/status");
  assert.deepEqual([status.state, status.ready], ["starting", false]);
});

test("createTypha() counts servers and nodes, works the limit out, and knows what other servers have", async (t) => {
  const ports: number[] = [];
  const endpoints = (): SliceFacts[] => [...ports.map((port) => ({ port, ready: true })), { port: 1, ready: false }];
  const reader = {
    async *list() {
      yield endpoints().map((endpoint) => ({ resource: sliceOf(endpoint), revision: "1" }));
    },
    close: () => Promise.resolve(),
  };
  const settings = {
    TYPHA_CONNECTIONREBALANCINGMODE: "kubernetes",
    TYPHA_K8SSERVICEPOLLINTERVALSECS: "0.05",
    TYPHA_MAXCONNECTIONSLOWERLIMIT: "1",
  };
  const one = (epoch: string): Promise<Started> =>
    start(t, { newEpoch: () => epoch, openServices: () => Promise.resolve(reader as never) }, settings);
  const [first, second] = [await one("a"), await one("b")];
  const yaml = ["n1", "n2", "n3"].map((name) => `apiVersion: v1\nkind: Node\nmetadata: {name: ${name}}\n`);
  writeFileSync(join(first.directory, "nodes.yaml"), yaml.join("---\n"));
  ports.push(first.port, second.port);
  const client = dial(second.port, clientTls("client-cn"), testHello("node-1"));
  await client.next("welcome");
  const status = (): Promise<StatusView> => fetchJson<StatusView>(first.adminPort, "/api/v1/status");
  let { balance } = await status();
  while (balance?.peers[0]?.streams !== 1 || balance.nodes !== 3) ({ balance } = await status());
  // floor(1.2 * 3 / 1) = 3, for each stream.
  const { caches } = await fetchJson<CachesView>(first.adminPort, "/api/v1/caches");
  assert.equal(balance.limit, 4 * caches.length);
  assert.deepEqual([balance.typhas, balance.reason, balance.problem], [2, "fraction+20%", null]);
  assert.deepEqual(
    balance.peers.map(({ address, takesClients }) => [address, takesClients]),
    [[`127.0.0.1:${second.port}`, true]],
  );
  client.socket.terminate();
});

interface SliceFacts {
  readonly port: number;
  readonly ready: boolean;
}

function sliceOf({ port, ready }: SliceFacts): object {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `s-${port}`, labels: { "kubernetes.io/service-name": "calico-typha" } },
    ports: [{ name: "calico-typha", port }],
    endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready }, targetRef: { kind: "Pod", name: `p-${port}` } }],
  };
}
