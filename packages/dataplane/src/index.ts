export type { DataplaneConfig, FailsafePort, LogRateLimit, MarkBits } from "./config/dataplane-config.ts";
export type { DataplaneEvents, DataplaneHandle, DataplaneWorkerOptions } from "./handle.ts";
export { renderRuleset } from "./render/render-ruleset.ts";
export type { DataplaneCounters, DataplaneStatus, DriftKind, EndpointStatus, FromDataplane } from "./status.ts";
export { startDataplaneWorker } from "./worker/start-worker.ts";
