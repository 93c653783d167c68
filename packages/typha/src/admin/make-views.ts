import type { Pipeline } from "../pipeline/pipeline.ts";
import type { ClientSession } from "../server/client-session.ts";
import type { SyncServer } from "../server/sync-server.ts";
import type { CachesView, CacheView, ClientsView, ClientView } from "./views.ts";

/** All streams of the server, oldest first. */
export function clientsView(server: SyncServer, pipelines: readonly Pipeline[]): ClientsView {
  const clients = server
    .sessions()
    .toSorted((a, b) => a.connectedAtMs - b.connectedAtMs)
    .flatMap((session) => clientView(server, session, pipelines) ?? []);
  return { clients };
}

function clientView(
  server: SyncServer,
  session: ClientSession,
  pipelines: readonly Pipeline[],
): ClientView | undefined {
  const { hello, stream } = session;
  if (hello === undefined || stream === undefined) return undefined;
  const place = stream.place();
  const pipeline = pipelines.find(({ type }) => type === hello.syncer);
  return {
    connectionId: session.id,
    hostname: hello.hostname,
    syncer: hello.syncer,
    info: hello.info,
    clientId: hello.clientId,
    peer: session.transport.peer,
    connectedAt: new Date(session.connectedAtMs).toISOString(),
    begunWith: place.begunWith ?? null,
    inSnapshot: place.inSnapshot,
    serverSequence: pipeline?.cache.head.sequence ?? 0,
    sentSequence: place.sentSequence,
    appliedSequence: place.appliedSequence ?? null,
    lagMs: Math.round(place.lagMs),
    bytesSent: place.bytesSent,
    duplicate: server.isDuplicate(session),
  };
}

export function cachesView(server: SyncServer, pipelines: readonly Pipeline[]): CachesView {
  return { caches: pipelines.map((pipeline) => cacheView(server, pipeline)) };
}

function cacheView(server: SyncServer, pipeline: Pipeline): CacheView {
  const { cache } = pipeline;
  const { head, history, counters } = cache;
  return {
    syncer: cache.syncer,
    epoch: cache.epoch,
    sequence: head.sequence,
    status: head.status,
    keys: cache.size,
    changedAt: new Date(head.timestampMs).toISOString(),
    upstreamAgeMs: Math.round(pipeline.upstreamAgeMs()),
    flushWindowMs: pipeline.flushWindowMs,
    retained: { breadcrumbs: history.count, oldestSequence: history.oldestSequence, bytes: history.bytes },
    updates: counters.updates,
    skipped: counters.skipped,
    snapshotsGenerated: counters.snapshots.generated,
    snapshotsReused: counters.snapshots.reused,
    propagation: server.propagation(cache.syncer).view(),
    kinds: pipeline.kinds().map(({ kind, status, reason, code, sinceMs, unusable, upstreamAgeMs, keys }) => ({
      kind,
      status,
      reason: reason ?? null,
      code: code ?? null,
      since: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
      unusable: unusable?.items ?? 0,
      upstreamAgeMs: upstreamAgeMs === undefined ? null : Math.round(upstreamAgeMs),
      keys,
    })),
  };
}
