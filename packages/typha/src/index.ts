export { Breadcrumb, type BreadcrumbParts } from "./cache/breadcrumb.ts";
export type { FrameEncoder } from "./cache/encode-kvs.ts";
export type { Snapshot } from "./cache/snapshot.ts";
export {
  type CacheCounters,
  type PublishInput,
  type PublishResult,
  SnapshotCache,
  type SnapshotCacheOptions,
} from "./cache/snapshot-cache.ts";
