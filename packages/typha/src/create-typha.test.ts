import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "@bulrush/base";
import { DatastoreError, openDatastore } from "@bulrush/datastore";
import { createMetrics, HealthAggregator, type MemoryLogger, memoryLogger, type Metrics } from "@bulrush/service";
import type { ClientsView, StatusView } from "./admin/views.ts";
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

async function start(t: TestContext, overrides: Partial<TyphaDependencies> = {}): Promise<Started> {
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
