import type { ManualClock } from "@bulrush/base";
import { frameMessage } from "@bulrush/proto";
import { createMetrics, type Metrics, silentLogger } from "@bulrush/service";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import { createServerMetrics } from "../server/server-metrics.ts";
import { DEFAULT_SERVER_SETTINGS } from "../server/settings.ts";
import { SyncServer } from "../server/sync-server.ts";

/** A server of the `felix` stream with an empty cache, for clients without sockets; default settings, nothing random. */
export function memoryServer(
  clock: ManualClock,
  {
    metrics = createMetrics(),
    yieldTurn = () => new Promise((resolve) => setImmediate(resolve)),
    upstreamAgeMs = () => 0,
    namePeers = () => [],
  }: {
    readonly metrics?: Metrics;
    readonly yieldTurn?: () => Promise<void>;
    readonly upstreamAgeMs?: () => number;
    readonly namePeers?: () => readonly string[];
  } = {},
): { readonly cache: SnapshotCache; readonly server: SyncServer } {
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: clock.nowMs(),
    encodeFrame: frameMessage,
    yieldTurn,
  });
  const server = new SyncServer({
    settings: DEFAULT_SERVER_SETTINGS,
    streams: [{ cache, upstreamAgeMs }],
    namePeers,
    clock,
    random: () => 0.5,
    defer: setImmediate,
    logger: silentLogger,
    metrics: createServerMetrics(metrics),
  });
  return { cache, server };
}
