export type { DataplaneConfig, FailsafePort, LogRateLimit, MarkBits } from "./config/dataplane-config.ts";
export { type ParsedConfig, parseDataplaneConfig, type SettingProblem } from "./config/parse-config.ts";
export { DATAPLANE_ERROR_CODES, DataplaneError, type DataplaneErrorCode } from "./errors.ts";
export type { DataplaneEvents, DataplaneHandle, DataplaneWorkerOptions } from "./handle.ts";
export type { Kernel, RouteAccess, Sysctls } from "./kernel/kernel.ts";
export { createDataplane, type DataplaneOptions } from "./loop/dataplane.ts";
export { renderRuleset } from "./render/render-ruleset.ts";
export type { DataplaneCounters, DataplaneStatus, DriftKind, EndpointStatus, FromDataplane } from "./status.ts";
export { startDataplaneWorker } from "./worker/start-worker.ts";
