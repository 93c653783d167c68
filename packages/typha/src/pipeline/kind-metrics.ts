import type { KindReport } from "@bulrush/datastore";
import type { SyncerType } from "@bulrush/proto";
import type { Metrics } from "@bulrush/service";

/** A source whose kinds are told about. */
export interface KindSource {
  readonly type: SyncerType;
  kinds(): readonly KindReport[];
}

/**
 * What each kind of each source is like, read when the page is made: once per registry. A kind that is in order has no
 * `..._amiss_since_...`, so that a dashboard shows only what is wrong.
 */
export function registerKindMetrics(metrics: Metrics, sources: readonly KindSource[]): void {
  const labels = ["syncer", "kind"] as const;
  const each = <T>(read: (report: KindReport, syncer: SyncerType) => readonly T[]): readonly T[] =>
    sources.flatMap((source) => source.kinds().flatMap((report) => read(report, source.type)));
  metrics.gaugeFamilyFrom(
    { name: "bulrush_typha_kind_in_sync", help: "1 when all of the kind was read and is followed, else 0", labels },
    () => each(({ kind, status }, syncer) => [[{ syncer, kind }, status === "in-sync" ? 1 : 0] as const]),
  );
  metrics.gaugeFamilyFrom(
    { name: "bulrush_typha_kind_keys", help: "Keys in the cache that come from the kind: which one grows", labels },
    () => each(({ kind, keys }, syncer) => [[{ syncer, kind }, keys] as const]),
  );
  metrics.gaugeFamilyFrom(
    {
      name: "bulrush_typha_kind_amiss_since_timestamp_seconds",
      help: "Since when the kind has not been in order, by the code of its last error; absent while it is",
      labels: ["syncer", "kind", "code"],
    },
    () =>
      each(({ kind, sinceMs, code = "NOT_LISTED_YET" }, syncer) =>
        sinceMs === undefined ? [] : [[{ syncer, kind, code }, sinceMs / 1000] as const],
      ),
  );
  metrics.gaugeFamilyFrom(
    { name: "bulrush_typha_unusable_objects", help: "Stored objects that cannot be used as they are written", labels },
    () => each(({ kind, unusable }, syncer) => [[{ syncer, kind }, unusable?.items ?? 0] as const]),
  );
  metrics.gaugeFamilyFrom(
    {
      name: "bulrush_typha_unusable_objects_since_timestamp_seconds",
      help: "Since when the oldest of them has been so; absent while there is none",
      labels,
    },
    () =>
      each(({ kind, unusable }, syncer) =>
        unusable === undefined ? [] : [[{ syncer, kind }, unusable.sinceMs / 1000] as const],
      ),
  );
}
