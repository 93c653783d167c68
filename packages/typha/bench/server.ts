/**
 * The server process of the benches: cache, feeder, server and listener as Typha has them, without a datastore.
 * argv: control socket path, directory of the certificates, keys, KVs per tick, and `lean` where the memory of this
 * process is measured: then endpoints are made as they are published and not kept. Prints the sync port and the floor
 * port.
 */
import { type AddressInfo, createServer } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { once } from "node:events";
import { join } from "node:path";
import { systemClock } from "@bulrush/base";
import { keepNurserySmall } from "@bulrush/base/heap";
import { createMetrics, silentLogger } from "@bulrush/service";
import { SnapshotCache } from "../src/cache/snapshot-cache.ts";
import { createFrameEncoders } from "../src/pipeline/frame-encoder.ts";
import { CacheFeeder } from "../src/pipeline/cache-feeder.ts";
import { SyncListener } from "../src/server/listener.ts";
import { createServerMetrics } from "../src/server/server-metrics.ts";
import { DEFAULT_SERVER_SETTINGS } from "../src/server/settings.ts";
import { SyncServer } from "../src/server/sync-server.ts";
import { readTlsMaterial, tlsServerOptions } from "../src/server/tls-material.ts";
import { type Answer, type Command, onLines, sharedClockMs } from "./control.ts";
import { TurnWatch } from "./turn-watch.ts";
import { Workload } from "./workload.ts";

const [controlPath = "", certificates = "", keys = "", perTick = "", lean] = process.argv.slice(2);
keepNurserySmall();
const workload = new Workload(Number(keys), { isKept: lean !== "lean" });
const clock = systemClock();
const metrics = createServerMetrics(createMetrics());
const yieldTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const encoders = createFrameEncoders(() => server.connectionCount);
const cache = new SnapshotCache({ syncer: "felix", epoch: "bench", nowMs: clock.nowMs(), ...encoders, yieldTurn });
const feeder = new CacheFeeder({ cache, clock, yieldTurn, maxBatch: 100 });
const server: SyncServer = new SyncServer({
  // The machine may be busy with other things: nobody is cut for that.
  settings: { ...DEFAULT_SERVER_SETTINGS, handshakeTimeoutMs: 60_000 },
  streams: [{ cache, upstreamAgeMs: () => 0, onFanOut: (durationMs) => feeder.onFanOut(durationMs) }],
  clock,
  random: Math.random,
  defer: setImmediate,
  logger: silentLogger,
  metrics,
});
const tls = {
  keyFile: join(certificates, "server.key"),
  certFile: join(certificates, "server.crt"),
  caFile: join(certificates, "ca.crt"),
  clientRule: { commonName: "typha-client" },
};
const listener = new SyncListener({
  host: "127.0.0.1",
  port: 0,
  tls,
  handshakeTimeoutMs: 60_000,
  clock,
  random: Math.random,
  logger: silentLogger,
  log: server.log,
  metrics,
  onAccepted: (transport, deadlineMs) => server.accept(transport, deadlineMs),
  onRefused: (transport, reason) => server.refuse(transport, "identity", reason),
});

async function fill(): Promise<void> {
  for (let i = 0; i < workload.keys; i += 100) await feeder.onUpdates(workload.fill(i, 100));
  feeder.onStatusUpdated("in-sync");
}
await fill();

// The floor: the same TLS, the same bytes, nothing else.
const floorSockets: TLSSocket[] = [];
const floorServer = createTlsServer({ noDelay: true, ...tlsServerOptions(readTlsMaterial(tls), 60_000) }, (socket) => {
  socket.setNoDelay(true);
  socket.resume();
  floorSockets.push(socket);
});
floorServer.listen(0, "127.0.0.1");
await once(floorServer, "listening");

let ticks = new Map<number, ReturnType<Workload["tick"]>>();
let floorFrame = Buffer.alloc(0);

function prepare(from: number, count: number): void {
  ticks = new Map();
  for (let t = from; t < from + count; t++) ticks.set(t, workload.tick(t, Number(perTick)));
  floorFrame = Buffer.from(cache.head.frame);
  globalThis.gc?.();
}

/** Publishes ticks at even distances and gives when each was. A late one moves no other. */
async function pace(from: number, count: number, perSecond: number): Promise<number[]> {
  const startMs = sharedClockMs();
  const publishedAtMs: number[] = [];
  for (let i = 0; i < count; i++) {
    const leftMs = startMs + (i * 1000) / perSecond - sharedClockMs();
    if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
    publishedAtMs.push(sharedClockMs());
    void feeder.onUpdates(ticks.get(from + i) ?? []);
  }
  return publishedAtMs;
}

const turns = new TurnWatch();
let cpu = process.cpuUsage();

function makeAnswer(publishedAtMs: readonly number[] = []): Answer {
  const { user, system } = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  const { wallMs, cpuMs } = turns.end();
  return {
    cpuUs: user + system,
    frameBytes: cache.head.frame.length,
    residentBytes: process.memoryUsage.rss(),
    longestTurnMs: wallMs,
    longestTurnCpuMs: cpuMs,
    publishedAtMs,
  };
}

async function obey(command: Command): Promise<Answer | undefined> {
  switch (command.do) {
    case "tick":
      void feeder.onUpdates(ticks.get(command.t) ?? []);
      return undefined;
    case "floor":
      for (const target of floorSockets) target.write(floorFrame);
      return undefined;
    case "prepare":
      prepare(command.from, command.count);
      return makeAnswer();
    case "touch":
      await feeder.onUpdates(workload.touch(command.t));
      return makeAnswer();
    case "pace":
      return makeAnswer(await pace(command.from, command.count, command.perSecond));
    case "cpu":
      return makeAnswer();
    case "watch": {
      const answer = makeAnswer();
      turns.begin();
      return answer;
    }
  }
}

const control = createServer((socket) => {
  onLines(socket, (message) => {
    void obey(message as Command).then((answer) => {
      if (answer !== undefined) socket.write(`${JSON.stringify(answer)}\n`);
    });
  });
});
control.listen(controlPath);
// Lets a profiler write its file.
process.on("SIGTERM", () => process.exit(0));
const { port } = await listener.listening;
process.stdout.write(`${port} ${(floorServer.address() as AddressInfo).port}\n`);
