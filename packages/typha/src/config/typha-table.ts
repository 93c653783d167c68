import {
  authority,
  bool,
  CLIENT_AUTH_MODES,
  type ConfigTable,
  defineConfig,
  endpointList,
  file,
  host,
  int,
  LOG_SEVERITIES,
  type LogSeverity,
  oneOf,
  optional,
  type Parameter,
  port,
  seconds,
  text,
} from "@bulrush/service";
import type { TyphaConfig } from "./typha-config.ts";

function severity(doc: string, more: { readonly noEffect?: string } = {}): Parameter<LogSeverity> {
  return { type: oneOf(LOG_SEVERITIES), default: "INFO", doc, ...more };
}

function certificate(doc: string): Parameter<string> {
  return { type: file({ mustExist: true }), default: "", doc };
}

/** Every setting, in the order of the reference. */
export const TYPHA_TABLE: ConfigTable<TyphaConfig> = defineConfig<TyphaConfig>({
  DatastoreType: {
    type: optional(oneOf(["kubernetes", "etcdv3", "file"] as const)),
    default: undefined,
    doc: "Where resources are read from. Unset: `DATASTORE_TYPE`; else `file` if `BULRUSH_DATASTORE_DIR` is set, `etcdv3` if `ETCD_ENDPOINTS` is, else `kubernetes`.",
    dieOnFail: true,
    nonZero: true,
  },
  EtcdAddr: {
    type: authority(),
    default: "127.0.0.1:2379",
    doc: "Used when EtcdEndpoints is empty.",
  },
  EtcdScheme: {
    type: oneOf(["http", "https"] as const),
    default: "http",
    doc: "Goes with EtcdAddr.",
  },
  EtcdEndpoints: { type: endpointList(), default: [], doc: "Overrides EtcdAddr and EtcdScheme." },
  EtcdKeyFile: certificate("Key of the client certificate for etcd."),
  EtcdCertFile: certificate("Client certificate for etcd."),
  EtcdCaFile: certificate("CA of etcd's certificate."),
  InitialiseDatastore: {
    type: oneOf(["auto", "always", "never"] as const),
    default: "auto",
    doc: "Whether ClusterInformation and the tiers are created at the start where they are missing: tried once (not being allowed to is fine; never in a directory, which needs neither), until it works, or not at all.",
  },

  LogFilePath: {
    type: file({ mustExist: false }),
    default: "/var/log/calico/typha.log",
    doc: "File of the log; `none`: no file.",
    dieOnFail: true,
  },
  LogSeverityFile: severity("Least severity that goes to the file; `none`: nothing does."),
  LogSeverityScreen: severity("Least severity that goes to standard output; `none`: nothing does."),
  LogSeveritySys: severity("Least severity that goes to syslog.", { noEffect: "syslog is not written to" }),
  EarlyLogSeverityScreen: {
    type: oneOf(LOG_SEVERITIES),
    default: "",
    doc: "Least severity on standard output until the settings are read. Unset: LogSeverityScreen.",
  },
  DebugDisableLogDropping: {
    type: bool(),
    default: false,
    doc: "A blocked log output makes the process wait instead of dropping lines.",
  },

  HealthEnabled: { type: bool(), default: false, doc: "Serve `/liveness` and `/readiness`." },
  HealthHost: { type: host(), default: "localhost", doc: "Address of the health server; `none`: all." },
  HealthPort: { type: port(), default: 9098, doc: "Port of the health server." },
  PrometheusMetricsEnabled: { type: bool(), default: false, doc: "Serve `/metrics`." },
  PrometheusMetricsHost: { type: host(), default: "", doc: "Address of the metrics server; unset: all." },
  PrometheusMetricsPort: { type: port(), default: 9093, doc: "Port of the metrics server." },
  PrometheusGoMetricsEnabled: { type: bool(), default: true, doc: "Metrics of the runtime." },
  PrometheusProcessMetricsEnabled: { type: bool(), default: true, doc: "Metrics of the process." },
  PrometheusMetricsKeyFile: {
    type: text(),
    default: "",
    doc: "Key of the metrics server; with it, metrics are HTTPS.",
  },
  PrometheusMetricsCertFile: { type: text(), default: "", doc: "Certificate of the metrics server." },
  PrometheusMetricsCAFile: { type: text(), default: "", doc: "CA of the scrapers' certificates." },
  PrometheusMetricsClientAuth: {
    type: oneOf(CLIENT_AUTH_MODES),
    default: "NoClientCert",
    doc: "What certificate a scraper must have.",
  },

  SnapshotCacheMaxBatchSize: { type: int({ min: 1 }), default: 100, doc: "KVs in a breadcrumb at most." },
  ResumeMaxBytes: {
    type: int({ min: 0 }),
    default: 64 * 1024 * 1024,
    doc: "Budget in bytes, per stream, of the breadcrumbs that are kept for clients that come back.",
  },
  ServerMaxMessageSize: {
    type: int({ min: 1 }),
    default: 100,
    doc: "KVs in a message.",
    noEffect: "a delta message is a breadcrumb and a snapshot message is a chunk of the cache",
  },
  ServerMaxFallBehindSecs: {
    type: seconds(),
    default: 300,
    doc: "A client that is further behind than this and not catching up is told to start anew.",
  },
  ServerNewClientFallBehindGracePeriod: {
    type: seconds(),
    default: 300,
    doc: "Seconds after its snapshot during which a client may be further behind.",
  },
  ServerMinBatchingAgeThresholdSecs: {
    type: seconds(),
    default: 0.01,
    doc: "Lag from which changes are gathered.",
    noEffect: "the flush window adapts to the load by itself",
  },
  ServerPingIntervalSecs: {
    type: seconds(),
    default: 10,
    doc: "Time between pings, at most 600; clients are told it and go by it.",
  },
  ServerPongTimeoutSecs: {
    type: seconds(),
    default: 60,
    doc: "A client that leaves a ping unanswered for this long is disconnected. At most twice the ping interval counts as six times it.",
  },
  ServerHandshakeTimeoutSecs: { type: seconds(), default: 10, doc: "Time for TLS, upgrade and hello together." },
  ServerWriteTimeoutSecs: { type: seconds(), default: 120, doc: "A write that takes longer ends the connection." },
  ServerHost: { type: host(), default: "", doc: "Address of the sync server; unset: all." },
  ServerPort: { type: port(), default: 0, doc: "Port of the sync server; 0 is 5473." },
  ServerKeyFile: certificate("Key of the server certificate."),
  ServerCertFile: certificate("Certificate of the sync server."),
  CAFile: certificate("CA that client certificates must chain to."),
  ClientCN: { type: text(), default: "", doc: "Common name that a client certificate must have." },
  ClientURISAN: {
    type: text(),
    default: "",
    doc: "URI that must be among a client certificate's alternative names. With ClientCN too, either suffices.",
  },
  Workers: {
    type: int({ min: 0, max: 64 }),
    default: 0,
    doc: "Threads that serve the connections, on cores of their own; 0: the main thread does. Worth it only where one core is not enough.",
  },

  AdminHost: {
    type: host(),
    default: "localhost",
    doc: "Address of the admin API. Anything but loopback needs the server's TLS settings, and a client certificate of the same CA.",
  },
  AdminPort: { type: port(), default: 9097, doc: "Port of the admin API; 0: not served." },
  ConsoleDir: {
    type: text(),
    default: "",
    doc: "Directory of the built console, which the admin API then serves at `/`; unset: none.",
  },
  StaleAfterSecs: {
    type: seconds(),
    default: 120,
    doc: "Without an answer from the datastore for this long, Typha is not ready. 0: never.",
  },

  MaxConnectionsUpperLimit: { type: int({ min: 1 }), default: 10_000, doc: "More streams than this are rejected." },
  MaxConnectionsLowerLimit: { type: int({ min: 1 }), default: 400, doc: "The worked-out limit is never below this." },
  ConnectionRebalancingMode: {
    type: oneOf(["none", "kubernetes"] as const),
    default: "none",
    doc: "`kubernetes`: a limit is worked out from the numbers of ready Typhas and of nodes, and streams above it are handed over to the others. `none`: only MaxConnectionsUpperLimit holds.",
  },
  ConnectionLimitBasis: {
    type: oneOf(["formula", "observed"] as const),
    default: "formula",
    doc: "How many streams a node is counted with: `formula`: as many as Typha serves; `observed`: what there are on all Typhas.",
  },
  ConnectionLevelling: {
    type: bool(),
    default: true,
    doc: "With ConnectionRebalancingMode `kubernetes`: Typhas level their streams below the limit too.",
  },
  ConnectionDropIntervalSecs: {
    type: seconds(),
    default: 1,
    doc: "Time between two streams that are handed over, plus up to 10 %; less where all would take longer than 150 s.",
  },
  ShutdownTimeoutSecs: { type: seconds(), default: 300, doc: "Budget for saying goodbye to all clients." },
  ShutdownConnectionDropIntervalMaxSecs: {
    type: seconds(),
    default: 1,
    doc: "The most time between two goodbyes of a shutdown.",
  },
  K8sServicePollIntervalSecs: {
    type: seconds(),
    default: 30,
    doc: "Time between two counts of Typhas and nodes, plus up to 10 %.",
  },
  K8sNamespace: { type: text(), default: "kube-system", doc: "Namespace of Typha's Service." },
  K8sServiceName: { type: text(), default: "calico-typha", doc: "Name of Typha's Service." },
  K8sPortName: { type: text(), default: "calico-typha", doc: "Port of Typha's Service." },

  DebugMemoryProfilePath: {
    type: file({ mustExist: false }),
    default: "",
    doc: "Where SIGUSR1 writes a heap snapshot, which a browser's developer tools read (`.heapsnapshot`); `<timestamp>` in it becomes the local time. Nobody is served while it is written: some seconds for a big cache.",
  },
  DebugHost: {
    type: host(),
    default: "localhost",
    doc: "Address of the profiler.",
    noEffect: "there is no Go profiler",
  },
  DebugPort: { type: port(), default: 0, doc: "Port of the profiler.", noEffect: "there is no Go profiler" },
});
