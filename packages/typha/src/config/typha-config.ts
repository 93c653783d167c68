import type { LogSettings, LogSeverity, MetricsSettings } from "@bulrush/service";

/** All settings of a Typha process by canonical name; times in seconds, as they are written. */
export interface TyphaConfig extends LogSettings, MetricsSettings {
  readonly DatastoreType: "kubernetes" | "etcdv3" | "file" | "" | undefined;
  readonly EtcdAddr: string;
  readonly EtcdScheme: "http" | "https" | "";
  readonly EtcdEndpoints: readonly string[];
  readonly EtcdKeyFile: string;
  readonly EtcdCertFile: string;
  readonly EtcdCaFile: string;
  readonly InitialiseDatastore: "auto" | "always" | "never" | "";

  readonly LogSeveritySys: LogSeverity;
  readonly EarlyLogSeverityScreen: LogSeverity;

  readonly HealthEnabled: boolean;
  readonly HealthHost: string;
  readonly HealthPort: number;

  readonly SnapshotCacheMaxBatchSize: number;
  readonly ResumeMaxBytes: number;
  readonly ServerMaxMessageSize: number;
  readonly ServerMaxFallBehindSecs: number;
  readonly ServerNewClientFallBehindGracePeriod: number;
  readonly ServerMinBatchingAgeThresholdSecs: number;
  readonly ServerPingIntervalSecs: number;
  readonly ServerPongTimeoutSecs: number;
  readonly ServerHandshakeTimeoutSecs: number;
  readonly ServerWriteTimeoutSecs: number;
  readonly ServerHost: string;
  readonly ServerPort: number;
  readonly ServerKeyFile: string;
  readonly ServerCertFile: string;
  readonly CAFile: string;
  readonly ClientCN: string;
  readonly ClientURISAN: string;
  readonly Workers: number;

  readonly AdminHost: string;
  readonly ConsoleDir: string;
  readonly AdminPort: number;
  readonly StaleAfterSecs: number;

  readonly MaxConnectionsUpperLimit: number;
  readonly MaxConnectionsLowerLimit: number;
  readonly ConnectionRebalancingMode: "none" | "kubernetes" | "";
  readonly ConnectionLimitBasis: "formula" | "observed" | "";
  readonly ConnectionLevelling: boolean;
  readonly ConnectionDropIntervalSecs: number;
  readonly ShutdownTimeoutSecs: number;
  readonly ShutdownConnectionDropIntervalMaxSecs: number;
  readonly K8sServicePollIntervalSecs: number;
  readonly K8sNamespace: string;
  readonly K8sServiceName: string;
  readonly K8sPortName: string;

  readonly DebugMemoryProfilePath: string;
  readonly DebugHost: string;
  readonly DebugPort: number;
}
