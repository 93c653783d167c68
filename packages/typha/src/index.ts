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
export type { CompareAnswer, ComparedKV, CompareQuestion } from "./admin/compare.ts";
export type { CachesView, CacheView, ClientsView, ClientView, KindView, StatusView } from "./admin/views.ts";
export { DEFAULT_CONFIG_FILE, loadTyphaConfig, RANDOM_PORT } from "./config/load-typha-config.ts";
export type { TyphaConfig } from "./config/typha-config.ts";
export { TYPHA_TABLE } from "./config/typha-table.ts";
export { createTypha, type Typha, type TyphaDependencies } from "./create-typha.ts";
export { TYPHA_ERROR_CODES, TyphaError, type TyphaErrorCode } from "./errors.ts";
export { connectionLimit, type ConnectionLimit, type LimitBasis, type LimitInputs } from "./limit/connection-limit.ts";
export {
  type ForecastInputs,
  forecastLimit,
  type LimitForecast,
  type LimitWarning,
  type LimitWarningCode,
} from "./limit/limit-forecast.ts";
