import { SYNCER_TYPES, type SyncerType } from "@bulrush/proto";
import type { Metrics } from "@bulrush/service";
import type { PublishResult, SnapshotCache } from "../cache/snapshot-cache.ts";

/** What a pipeline counts about its cache. */
export interface CacheMetrics {
  onPublished(result: PublishResult): void;
  onInvalid(): void;
}

/** The caches' metrics: upstream's names, and ours as `bulrush_typha_*`. */
export interface PipelineMetrics {
  cache(type: SyncerType): CacheMetrics;
  /** Brings the gauges and the counters that the caches keep themselves up to date; call it now and then. */
  collect(caches: readonly SnapshotCache[]): void;
}

/** Once per registry. Every syncer type is there from the start, at zero. */
export function createPipelineMetrics(metrics: Metrics): PipelineMetrics {
  const labels = ["syncer"] as const;
  const sequence = metrics.gaugeFamily({ name: "typha_breadcrumb_seq_number", help: "Newest sequence", labels });
  const size = metrics.gaugeFamily({ name: "typha_cache_size", help: "Keys in the cache", labels });
  const updates = metrics.counterFamily({ name: "typha_updates_total", help: "Updates from the syncer", labels });
  const skipped = metrics.counterFamily({
    name: "typha_updates_skipped",
    help: "Updates that would have changed nothing",
    labels,
  });
  const batch = metrics.summaryFamily({ name: "typha_breadcrumb_size", help: "KVs in a breadcrumb", labels });
  const generated = metrics.counterFamily({ name: "typha_snapshots_generated", help: "Snapshots built", labels });
  const reused = metrics.counterFamily({ name: "typha_snapshots_reused", help: "Snapshots shared", labels });
  const snapshotBytes = metrics.gaugeFamily({
    name: "typha_snapshot_compressed_bytes",
    help: "Bytes of the newest snapshot",
    labels,
  });
  const invalid = metrics.counterFamily({
    name: "bulrush_typha_invalid_updates",
    help: "Updates whose value the validation filter did not accept",
    labels,
  });
  const retained = metrics.gaugeFamily({
    name: "bulrush_typha_retained_breadcrumbs",
    help: "Breadcrumbs kept for clients that come back",
    labels,
  });
  const retainedBytes = metrics.gaugeFamily({
    name: "bulrush_typha_retained_bytes",
    help: "About what the retained breadcrumbs take",
    labels,
  });
  for (const syncer of SYNCER_TYPES) {
    for (const family of [sequence, size, snapshotBytes, retained, retainedBytes]) family.with({ syncer }).set(0);
    for (const family of [updates, skipped, generated, reused, invalid]) family.with({ syncer }).inc(0);
  }
  const counted = new Map<SyncerType, { generated: number; reused: number }>();
  return {
    cache(syncer) {
      const children = {
        updates: updates.with({ syncer }),
        skipped: skipped.with({ syncer }),
        batch: batch.with({ syncer }),
        invalid: invalid.with({ syncer }),
      };
      return {
        onPublished({ crumbs, skipped: left }) {
          children.updates.inc(crumbs.reduce((sum, crumb) => sum + crumb.kvCount, left));
          children.skipped.inc(left);
          for (const crumb of crumbs) children.batch.observe(crumb.kvCount);
        },
        onInvalid: () => children.invalid.inc(),
      };
    },
    collect(caches) {
      for (const cache of caches) {
        const { syncer, head, history, counters } = cache;
        sequence.with({ syncer }).set(head.sequence);
        size.with({ syncer }).set(cache.size);
        retained.with({ syncer }).set(history.count);
        retainedBytes.with({ syncer }).set(history.bytes);
        snapshotBytes.with({ syncer }).set(counters.snapshots.bytes);
        const before = counted.get(syncer) ?? { generated: 0, reused: 0 };
        generated.with({ syncer }).inc(counters.snapshots.generated - before.generated);
        reused.with({ syncer }).inc(counters.snapshots.reused - before.reused);
        counted.set(syncer, { generated: counters.snapshots.generated, reused: counters.snapshots.reused });
      }
    },
  };
}
