export {
  type ConfigLayer,
  type ConfigOrigin,
  type ConfigProblem,
  loadConfig,
  type LoadConfigOptions,
  type LoadedConfig,
} from "./config/load.ts";
export {
  type ConfigTable,
  defineConfig,
  type Parameter,
  type ParameterType,
  type ParseContext,
  type ParseResult,
} from "./config/parameter.ts";
export { SERVICE_ERROR_CODES, ServiceError, type ServiceErrorCode } from "./errors.ts";
export {
  HealthAggregator,
  type HealthReport,
  type HealthReporter,
  type HealthSummary,
  type ReporterOptions,
} from "./health/aggregator.ts";
export type { HttpServerHandle, HttpServerOptions } from "./http/server.ts";
export { CLIENT_AUTH_MODES, type ClientAuthMode, type HttpTlsOptions } from "./http/tls.ts";
export type { Shutdown, ShutdownOptions, ShutdownReason, SignalSource } from "./lifecycle/shutdown.ts";
export { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from "./log/logger.ts";
export type {
  BucketOptions,
  Counter,
  Family,
  Gauge,
  LabelledOptions,
  MetricOptions,
  Metrics,
  Observer,
  QuantileOptions,
} from "./metrics/metrics.ts";
