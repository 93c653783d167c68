import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { must, systemClock } from "@bulrush/base";
import { openDatastore } from "@bulrush/datastore";
import { createMetrics, HealthAggregator, memoryLogger } from "@bulrush/service";
import type { CachesView, ClientsView, StatusView } from "../admin/views.ts";
import { loadTyphaConfig, RANDOM_PORT, syncTlsSettings } from "../config/load-typha-config.ts";
import { createTypha } from "../create-typha.ts";
import { askLoad } from "../limit/ask-load.ts";
import type { ServerLoad } from "../limit/server-load.ts";
import { certificateFile, clientTls, dial, type TestClient, testHello } from "../testing/websocket-client.ts";
import { startThread, type WorkerThread } from "./start-thread.ts";

const POLICY = (name: string): string => `
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata: {name: ${name}}
spec: {order: 1, selector: "all()", types: [Ingress], ingress: [{action: Allow}]}
`;

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** Waits until `check` holds; one that fails does not hold yet. */
async function until(check: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await Promise.resolve(check()).catch(() => false))) await turn();
}

const hasPolicy =
  (name: string) =>
  (message: TestClient["messages"][number]): boolean =>
    "kvs" in message && message.kvs.some(({ path }) => path.endsWith(`/${name}`));

/** Which worker a client is on: connection ids begin with it. */
async function workerOf(client: TestClient): Promise<string> {
  return (await client.next("welcome")).connectionId.split("-")[0] ?? "";
}

const lastSequence = ({ messages }: TestClient): number => {
  const last = messages.findLast((message) => message.type === "delta" || message.type === "snapshot-end");
  return last !== undefined && "sequence" in last ? last.sequence : 0;
};

test("createTypha() with two workers serves all clients over mutual TLS, which resume on either, also when one dies", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "typha-workers-"));
  writeFileSync(join(directory, "a.yaml"), POLICY("first"));
  const clock = systemClock({ keepAlive: true });
  const logger = memoryLogger();
  const health = new HealthAggregator(clock);
  const metrics = createMetrics();
  const threads = new Map<string, WorkerThread>();
  let running = 0;
  const { values } = loadTyphaConfig({
    env: {
      TYPHA_SERVERKEYFILE: certificateFile("server.key"),
      TYPHA_SERVERCERTFILE: certificateFile("server.crt"),
      TYPHA_CAFILE: certificateFile("ca.crt"),
      TYPHA_CLIENTCN: "typha-client",
      TYPHA_SHUTDOWNTIMEOUTSECS: "0.2",
      TYPHA_WORKERS: "2",
      TYPHA_CONNECTIONREBALANCINGMODE: "kubernetes",
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
    startThread: (init, events) => {
      running++;
      const thread = startThread(init, {
        onMessage: (message) => events.onMessage(message),
        onEnd: (reason, error) => {
          running--;
          events.onEnd(reason, error);
        },
      });
      threads.set(`w${init.number}`, thread);
      return thread;
    },
  });
  t.after(async () => {
    await typha.stop();
    rmSync(directory, { recursive: true });
  });
  typha.start();
  const { port } = await typha.listening;
  const admin = async <T>(path: string): Promise<T> =>
    (await (await fetch(`http://127.0.0.1:${(await typha.adminListening)?.port}/api/v1/${path}`)).json()) as T;
  await until(() => health.summary().ready && !health.summary().text.includes("connection worker"));

  const stranger = dial(port, clientTls("client-bad"), testHello("stranger"));
  assert.equal((await stranger.next("reject")).code, "identity");

  // The kernel chooses by a hash: until both have some.
  const clients: { readonly client: TestClient; readonly worker: string }[] = [];
  const counts = (): number[] => ["w1", "w2"].map((name) => clients.filter(({ worker }) => worker === name).length);
  while (clients.length < 10 || counts().includes(0)) {
    const client = dial(port, clientTls("client-cn"), testHello(`node-${clients.length}`));
    clients.push({ client, worker: await workerOf(client) });
    await client.when((message) => message.type === "status" && message.status === "in-sync");
    assert.ok(client.messages.some(hasPolicy("first")));
  }

  writeFileSync(join(directory, "b.yaml"), POLICY("second"));
  const sequences = new Set<number>();
  for (const { client } of clients) {
    await client.when(hasPolicy("second"));
    sequences.add(lastSequence(client));
    client.send({ type: "ack", sequence: lastSequence(client) - 1 });
    client.send({ type: "ack", sequence: lastSequence(client) });
  }
  assert.equal(sequences.size, 1, "one sequence everywhere");
  await until(async () => {
    const { clients: views } = await admin<ClientsView>("clients");
    return (
      views.length === clients.length &&
      views.every(({ appliedSequence, serverSequence }) => appliedSequence === serverSequence)
    );
  });
  const { caches } = await admin<CachesView>("caches");
  assert.equal(caches.find(({ syncer }) => syncer === "felix")?.propagation.samples, clients.length);
  await until(async () =>
    (await metrics.text()).includes(`typha_connections_streaming{syncer="felix"} ${clients.length}\n`),
  );

  // Another server asks for the load of all, whichever worker it comes to, and for a place.
  const tls = must(syncTlsSettings(config), "TLS");
  const ask = (reserve: string | undefined): Promise<ServerLoad> =>
    askLoad(`127.0.0.1:${port}`, reserve, tls, new AbortController().signal);
  const load = await ask(undefined);
  assert.deepEqual([load.streams, load.types], [clients.length, { felix: clients.length }]);
  // A place is kept for three seconds.
  await until(async () => {
    await ask("felix");
    return (await ask(undefined)).streams > clients.length;
  });

  // The other streams are served too.
  for (const syncer of ["bgp", "tunnel-ip-allocation", "node-status"] as const) {
    const other = dial(port, clientTls("client-cn"), { ...testHello(`other-${syncer}`), syncer });
    await other.when((message) => message.type === "status" && message.status === "in-sync");
    assert.equal((await other.next("welcome")).syncer, syncer);
    other.socket.terminate();
    await other.closed;
  }

  // A worker dies with its connections; the others stay.
  const [{ client: lost, worker: dead } = assert.fail()] = clients;
  threads.get(dead)?.terminate();
  for (const { client, worker } of clients) if (worker === dead) await client.closed;
  writeFileSync(join(directory, "c.yaml"), POLICY("third"));
  for (const { client, worker } of clients) if (worker !== dead) await client.when(hasPolicy("third"));
  const resume = { epoch: "epoch-1", sequence: lastSequence(lost) };
  const resumed = dial(port, clientTls("client-cn"), { ...testHello("node-0"), resume });
  await resumed.when(hasPolicy("third"));
  assert.equal((await resumed.next("welcome")).resume, "deltas");
  assert.ok(!resumed.messages.some(hasPolicy("first")), "only what came after");
  await until(() => health.summary().ready);

  // It is there again, and takes clients.
  await until(async () => {
    const text = await metrics.text();
    return text.includes("bulrush_typha_worker_restarts 1\n") && text.includes("bulrush_typha_workers_serving 2\n");
  });
  let worker = "";
  while (worker !== dead) {
    const client = dial(port, clientTls("client-cn"), { ...testHello("again"), resume });
    worker = await workerOf(client);
    assert.equal((await client.next("welcome")).resume, "deltas");
    client.socket.terminate();
    await client.closed;
  }
  assert.ok(
    logger.records.some(({ fields }) => fields["worker"] === 2),
    "lines say which worker",
  );

  const { state } = await admin<StatusView>("status");
  assert.equal(state, "running");
  const stopped = typha.stop();
  for (const { client, worker: of } of clients)
    if (of !== dead) assert.equal((await client.next("goodbye")).code, "draining");
  await stopped;
  // Threads that have ended listen to nothing; somebody else may do so on their port.
  await until(() => running === 0);
});
