import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { createMetrics, memoryLogger } from "@bulrush/service";
import { AcceptProbe } from "../server/accept-probe.ts";
import { LimitedLog } from "../server/limited-log.ts";
import { SyncListener } from "../server/listener.ts";
import { createServerMetrics } from "../server/server-metrics.ts";
import { DEFAULT_SERVER_SETTINGS } from "../server/settings.ts";
import { threadlessWorkers } from "../testing/threadless-workers.ts";
import { WorkerPool } from "./worker-pool.ts";

/** An address of this host where nobody else looks for a free port. */
const HOST = "127.83.12.7";

/** A listener that shares its port, as each worker has one. */
async function listen(
  clock: ManualClock,
  port: number,
): Promise<{ readonly listener: SyncListener; readonly port: number }> {
  const logger = memoryLogger();
  const listener = new SyncListener({
    host: "127.0.0.1",
    port,
    tls: undefined,
    handshakeTimeoutMs: 10_000,
    clock,
    random: () => 0.5,
    logger,
    log: new LimitedLog(clock, logger),
    metrics: createServerMetrics(createMetrics()),
    onAccepted: (transport) => transport.destroy(),
    onRefused: (transport) => transport.destroy(),
    sharesPort: true,
  });
  return { listener, port: (await listener.listening).port };
}

for (const isTold of ["before", "after"] as const)
  test(`SyncListener sees another thread's probe that it is told of ${isTold} it comes`, async () => {
    const { listener, port } = await listen(new ManualClock(), 0);
    const arrived = Promise.withResolvers<void>();
    const socket = connect({ port, host: "127.0.0.1" });
    const tell = (): void => listener.expectProbe(`127.0.0.1:${socket.localPort}`, arrived.resolve);
    // Before its first turn the listener has accepted nothing.
    if (isTold === "before") process.nextTick(tell);
    else {
      await once(socket, "connect");
      socket.write("GET /v1/sync HTTP/1.1\r\n");
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      tell();
    }
    await arrived.promise;
    socket.destroy();
    listener.close();
  });

test("a probe of a port that several share is well wherever it arrives", async () => {
  const clock = new ManualClock();
  const first = await listen(clock, 0);
  const second = await listen(clock, first.port);
  const results: (string | undefined)[] = [];
  let onResult: () => void = () => {};
  const probe = new AcceptProbe({
    clock,
    onResult: (problem) => {
      results.push(problem);
      onResult();
    },
    onBegun: (own) => {
      for (const { listener } of [first, second]) listener.expectProbe(own, () => probe.arrived(own));
    },
  });
  probe.start({ address: "127.0.0.1", family: "IPv4", port: first.port });
  for (let i = 0; i < 10; i++) {
    const done = new Promise<void>((resolve) => (onResult = resolve));
    await clock.advance(10_000);
    await done;
  }
  assert.deepEqual(
    results,
    Array.from({ length: 10 }, () => undefined),
  );
  probe.stop();
  first.listener.close();
  second.listener.close();
});

test("WorkerPool takes no port that another process has, says so, and goes on once it is free", async () => {
  const other = createServer().listen(0, HOST);
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const clock = new ManualClock();
  const logger = memoryLogger();
  const metrics = createMetrics();
  const pool = new WorkerPool({
    count: 2,
    settings: DEFAULT_SERVER_SETTINGS,
    streams: [],
    host: HOST,
    port,
    tls: undefined,
    clock,
    random: () => 0.5,
    yieldTurn: () => Promise.resolve(),
    logger,
    metrics,
    serverMetrics: createServerMetrics(metrics),
    startThread: threadlessWorkers(clock, () => 0.5).startThread,
    load: () => "null",
    peerTargets: () => [],
    sentTo: () => {},
    onTlsReloaded: () => {},
  });
  pool.start();
  const whenProblem = async (wanted: RegExp): Promise<void> => {
    while (!wanted.test(pool.problem() ?? "")) await clock.advance(100);
  };
  await whenProblem(/EADDRINUSE/);
  await clock.advance(10_000);
  assert.match(pool.problem() ?? "", /EADDRINUSE/);
  assert.equal(logger.records.filter(({ level }) => level === "error").length, 1, "the same is said once");
  other.close();
  // These workers do not listen: it is their turn.
  await whenProblem(/^connection worker 1: /);
  await pool.close();
});
