import { SYNCER_TYPES, type SyncerType, type Welcome } from "@bulrush/proto";
import type { Counter, Gauge, Metrics, Observer } from "@bulrush/service";

/** What the sync server counts about the streams of one syncer type. */
export interface StreamMetrics {
  readonly streaming: Gauge;
  readonly graceUsed: Counter;
  readonly snapshotSendSeconds: Observer;
  readonly writeSeconds: Observer;
  readonly lagSeconds: Observer;
  readonly pingSeconds: Observer;
  readonly kvsPerMessage: Observer;
  readonly fanOutSeconds: Observer;
  readonly propagationSeconds: Observer;
  /** A stream has begun: with deltas, with some buckets, or with everything. */
  begun(resume: Welcome["resume"]): void;
}

export interface ServerMetrics {
  readonly accepted: Counter;
  readonly active: Gauge;
  /** Streams ended for balance. */
  readonly dropped: Counter;
  readonly acceptErrors: Counter;
  /** By code: TLS failures, bad upgrades and every reject. */
  rejected(code: string): void;
  goodbye(code: string): void;
  /** New certificate files were taken, or are not fit to be. */
  certificates(result: "reloaded" | "refused"): void;
  readonly duplicates: Gauge;
  readonly bytesSent: Counter;
  stream(type: SyncerType): StreamMetrics;
}

/** Registers the server's metrics: upstream's names, and ours as `bulrush_typha_*`. Once per registry. */
export function createServerMetrics(metrics: Metrics): ServerMetrics {
  const labels = ["syncer"] as const;
  const streaming = metrics.gaugeFamily({
    name: "typha_connections_streaming",
    help: "Streams past their hello",
    labels,
  });
  const graceUsed = metrics.counterFamily({
    name: "typha_connections_grace_used",
    help: "Streams that were far behind only because they were new",
    labels,
  });
  const snapshotSend = metrics.summaryFamily({
    name: "typha_client_snapshot_send_secs",
    help: "Seconds from hello to the last byte of the snapshot in the socket",
    labels,
  });
  const write = metrics.summaryFamily({
    name: "typha_client_write_latency_secs",
    help: "Seconds until the kernel had a write (one in 64 is measured)",
    labels,
  });
  const lag = metrics.summaryFamily({
    name: "typha_client_latency_secs",
    help: "Age of the oldest breadcrumb that a client has not been written (one sweep in 8 is measured)",
    labels,
  });
  const ping = metrics.summaryFamily({ name: "typha_ping_latency", help: "Seconds from ping to pong", labels });
  const kvs = metrics.summaryFamily({ name: "typha_kvs_per_msg", help: "KVs in a delta frame", labels });
  const fanOut = metrics.summaryFamily({
    name: "typha_next_breadcrumb_latency_secs",
    help: "Seconds from a breadcrumb to its hand-over to the last client that was ready for it",
    labels,
  });
  const propagation = metrics.histogramFamily({
    name: "bulrush_typha_propagation_seconds",
    help: "Seconds from the syncer seeing a change to a client reporting that it is in force",
    labels,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const begun = metrics.counterFamily({
    name: "bulrush_typha_streams_begun",
    help: "Streams, by what they began with: deltas, buckets or a whole snapshot",
    labels: ["syncer", "resume"] as const,
  });
  const streams = new Map(
    SYNCER_TYPES.map((syncer): [SyncerType, StreamMetrics] => [
      syncer,
      {
        streaming: streaming.with({ syncer }),
        graceUsed: graceUsed.with({ syncer }),
        snapshotSendSeconds: snapshotSend.with({ syncer }),
        writeSeconds: write.with({ syncer }),
        lagSeconds: lag.with({ syncer }),
        pingSeconds: ping.with({ syncer }),
        kvsPerMessage: kvs.with({ syncer }),
        fanOutSeconds: fanOut.with({ syncer }),
        propagationSeconds: propagation.with({ syncer }),
        begun: (resume) => begun.with({ syncer, resume }).inc(),
      },
    ]),
  );
  const rejected = metrics.counterFamily({
    name: "bulrush_typha_connections_rejected",
    help: "Connections that never became streams, by reason",
    labels: ["code"] as const,
  });
  const goodbyes = metrics.counterFamily({
    name: "bulrush_typha_goodbyes",
    help: "Streams that the server ended, by reason",
    labels: ["code"] as const,
  });
  const certificates = metrics.counterFamily({
    name: "bulrush_typha_certificate_reloads",
    help: "Changes of the certificate files, by whether the new ones are served",
    labels: ["result"] as const,
  });
  return {
    accepted: metrics.counter({ name: "typha_connections_accepted", help: "Connections accepted" }),
    active: metrics.gauge({ name: "typha_connections_active", help: "Open connections, handshakes included" }),
    dropped: metrics.counter({ name: "typha_connections_dropped", help: "Streams ended to balance the load" }),
    acceptErrors: metrics.counter({ name: "bulrush_typha_accept_errors", help: "Failures to listen or to accept" }),
    rejected: (code) => rejected.with({ code }).inc(),
    goodbye: (code) => goodbyes.with({ code }).inc(),
    certificates: (result) => certificates.with({ result }).inc(),
    duplicates: metrics.gauge({
      name: "bulrush_typha_duplicate_clients",
      help: "Node names that more than one live client uses in one syncer type",
    }),
    bytesSent: metrics.counter({ name: "bulrush_typha_bytes_sent", help: "Bytes of frames handed to sockets" }),
    stream: (type) => streams.get(type) as StreamMetrics,
  };
}
