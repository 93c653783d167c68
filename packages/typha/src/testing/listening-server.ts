import { after } from "node:test";
import { type Clock, systemClock } from "@bulrush/base";
import { frameMessage, type IdentityRule } from "@bulrush/proto";
import { createMetrics, type MemoryLogger, memoryLogger, type Metrics } from "@bulrush/service";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import { SyncListener } from "../server/listener.ts";
import { createServerMetrics } from "../server/server-metrics.ts";
import { DEFAULT_SERVER_SETTINGS, type SyncServerSettings } from "../server/settings.ts";
import { SyncServer } from "../server/sync-server.ts";
import { certificateFile } from "./websocket-client.ts";

/** For tests: a sync server on a port of loopback, and what it says. It ends with the file's tests. */
export interface Served {
  readonly port: number;
  readonly listener: SyncListener;
  readonly server: SyncServer;
  readonly cache: SnapshotCache;
  readonly logger: MemoryLogger;
  readonly metrics: Metrics;
}

const running: Served[] = [];
after(() => {
  for (const { listener, server } of running) {
    listener.close();
    server.close();
  }
});

/** `file`: where the server's key, certificate and CA are; with no rule it is served without TLS. */
export async function serve(
  rule: IdentityRule | undefined,
  settings: Partial<SyncServerSettings> = {},
  clock: Clock = systemClock(),
  file: (name: string) => string = certificateFile,
): Promise<Served> {
  const logger = memoryLogger();
  const registry = createMetrics();
  const metrics = createServerMetrics(registry);
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: clock.nowMs(),
    encodeFrame: frameMessage,
    yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
  });
  const all = { ...DEFAULT_SERVER_SETTINGS, ...settings };
  const server = new SyncServer({
    settings: all,
    streams: [{ cache, upstreamAgeMs: () => 0 }],
    clock,
    random: Math.random,
    defer: setImmediate,
    logger,
    metrics,
  });
  const listener = new SyncListener({
    host: "127.0.0.1",
    port: 0,
    tls:
      rule === undefined
        ? undefined
        : {
            keyFile: file("server.key"),
            certFile: file("server.crt"),
            caFile: file("ca.crt"),
            clientRule: rule,
          },
    handshakeTimeoutMs: all.handshakeTimeoutMs,
    clock,
    random: Math.random,
    logger,
    log: server.log,
    metrics,
    onAccepted: (transport, deadlineMs) => server.accept(transport, deadlineMs),
    onRefused: (transport, reason) => server.refuse(transport, "identity", reason),
  });
  const { port } = await listener.listening;
  const served: Served = { port, listener, server, cache, logger, metrics: registry };
  running.push(served);
  return served;
}
