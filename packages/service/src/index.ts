export { type IniEntry, type IniResult, parseIni } from "./config/ini.ts";
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
export { type ReferenceOptions, renderReference } from "./config/reference.ts";
export { settle, type SettleOptions, type TriedSettings } from "./config/settle.ts";
export { readSettingsFile, type SettingsFile } from "./config/settings-file.ts";
export {
  authority,
  bool,
  endpointList,
  file,
  host,
  int,
  type IntRange,
  oneOf,
  optional,
  parseInteger,
  port,
  seconds,
  text,
  textList,
  textMap,
} from "./config/types.ts";
export { SERVICE_ERROR_CODES, ServiceError, type ServiceErrorCode } from "./errors.ts";
export {
  HealthAggregator,
  type HealthReport,
  type HealthReporter,
  type HealthSummary,
  type ReporterOptions,
} from "./health/aggregator.ts";
export { type HealthServerOptions, serveHealth } from "./health/health-server.ts";
export type { HealthRow } from "./health/table.ts";
export { type LiveServer, liveServer } from "./http/live-server.ts";
export { type HttpServerHandle, type HttpServerOptions, serveHttp } from "./http/server.ts";
export { CLIENT_AUTH_MODES, type ClientAuthMode, type HttpTlsOptions } from "./http/tls.ts";
export { waitForSlowAddresses } from "./lifecycle/connect-patience.ts";
export {
  createShutdown,
  type Shutdown,
  type ShutdownOptions,
  type ShutdownReason,
  type SignalSource,
} from "./lifecycle/shutdown.ts";
export {
  createLogger,
  type LoggerOptions,
  type LogOutput,
  type RootLogger,
  silentLogger,
} from "./log/create-logger.ts";
export { type LiveLog, liveLog } from "./log/live-log.ts";
export { cleanFields } from "./log/fields.ts";
export { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from "./log/logger.ts";
export { type LogSettings, openLog } from "./log/open-log.ts";
export { LOG_SEVERITIES, logLevelOf, type LogSeverity } from "./log/severity.ts";
export { memoryLogger, type LogRecord, type MemoryLogger } from "./log/memory-logger.ts";
export { switchableLogger, type SwitchableLogger } from "./log/switchable-logger.ts";
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
  Sample,
} from "./metrics/metrics.ts";
export { type MetricsServerOptions, serveMetrics } from "./metrics/metrics-server.ts";
export { type ProcessMetricsOptions, registerProcessMetrics } from "./metrics/process-metrics.ts";
export { createMetrics } from "./metrics/prometheus.ts";
export { lastingSample, mergeSamples, type MetricsSample } from "./metrics/sample.ts";
export { type MetricsSettings, type StartedMetrics, startMetrics } from "./metrics/start-metrics.ts";
