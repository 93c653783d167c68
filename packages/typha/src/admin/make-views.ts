import type { SyncerType } from "@bulrush/proto";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { ClientSession } from "../server/client-session.ts";
import type { PropagationView } from "../server/propagation.ts";
import type { CachesView, CacheView, ClientsView, ClientView } from "./views.ts";

/** All streams, oldest first, beside the newest sequence of each one's cache. */
export function clientsView(clients: readonly ClientView[], pipelines: readonly Pipeline[]): ClientsView {
  const heads = new Map(pipelines.map(({ type, cache }) => [type, cache.head.sequence]));
  return {
    clients: clients
      .map((client) => ({ ...client, serverSequence: heads.get(client.syncer) ?? 0 }))
      // ISO 8601 of one length: in the order of time.
      .toSorted((a, b) => (a.connectedAt < b.connectedAt ? -1 : Number(a.connectedAt > b.connectedAt))),
  };
}

/** A session without a hello is nobody yet. `duplicate`: another live client has its node name. */
export function clientView(session: ClientSession, duplicate: boolean): ClientView | undefined {
  const { hello, stream } = session;
  if (hello === undefined || stream === undefined) return undefined;
  const place = stream.place();
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
    serverSequence: 0,
    sentSequence: place.sentSequence,
    appliedSequence: place.appliedSequence ?? null,
    lagMs: Math.round(place.lagMs),
    bytesSent: place.bytesSent,
    duplicate,
  };
}

/** `propagation`: of each syncer type. */
export function cachesView(
  pipelines: readonly Pipeline[],
  propagation: (type: SyncerType) => PropagationView,
): CachesView {
  return { caches: pipelines.map((pipeline) => cacheView(pipeline, propagation(pipeline.type))) };
}

function cacheView(pipeline: Pipeline, propagation: PropagationView): CacheView {
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
    propagation,
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
