import { hostname } from "node:os";
import {
  authority,
  bool,
  CLIENT_AUTH_MODES,
  type ConfigTable,
  defineConfig,
  endpointList,
  file,
  host,
  LOG_SEVERITIES,
  type LogSettings,
  type MetricsSettings,
  oneOf,
  port,
  seconds,
  text,
  textMap,
} from "@bulrush/service";

/** What the agent's process itself does: identity, sources, log, health, metrics. Times in seconds, as upstream. */
export interface ProcessSettings extends LogSettings, MetricsSettings {
  readonly PrometheusWireGuardMetricsEnabled: boolean;
  readonly FelixHostname: string;
  readonly DatastoreType: "kubernetes" | "etcdv3" | "file" | "";
  readonly EtcdAddr: string;
  readonly EtcdScheme: "http" | "https" | "";
  readonly EtcdEndpoints: readonly string[];
  readonly EtcdKeyFile: string;
  readonly EtcdCertFile: string;
  readonly EtcdCaFile: string;
  readonly TyphaAddr: string;
  readonly TyphaK8sNamespace: string;
  readonly TyphaK8sServiceName: string;
  readonly TyphaReadTimeout: number;
  readonly TyphaWriteTimeout: number;
  readonly TyphaKeyFile: string;
  readonly TyphaCertFile: string;
  readonly TyphaCAFile: string;
  readonly TyphaCN: string;
  readonly TyphaURISAN: string;
  readonly StateDir: string;
  readonly ReportingIntervalSecs: number;
  readonly ReportingTTLSecs: number;
  readonly EndpointReportingEnabled: boolean;
  readonly EndpointReportingDelaySecs: number;
  readonly OpenstackRegion: string;
  readonly TunnelAddresses: "Disabled" | "Enabled" | "";
  readonly HealthEnabled: boolean;
  readonly HealthHost: string;
  readonly HealthPort: number;
  readonly HealthTimeoutOverrides: ReadonlyMap<string, string>;
  readonly DataplaneWatchdogTimeout: number;
  readonly AdminSocketPath: string;
}

export const PROCESS_SETTINGS: ConfigTable<ProcessSettings> = defineConfig<ProcessSettings>({
  FelixHostname: {
    type: text(),
    default: hostname().toLowerCase(),
    defaultDoc: "the system's host name in lower case",
    doc: "Name of this host, as in its Node.",
    local: true,
    nonZero: true,
  },
  DatastoreType: {
    type: oneOf(["kubernetes", "etcdv3", "file"]),
    default: "",
    doc: "Where policy is read from when no Typha is set. Default: what the environment suggests (`BULRUSH_DATASTORE_DIR`: file, `ETCD_ENDPOINTS`: etcdv3, else kubernetes).",
    local: true,
    dieOnFail: true,
    nonZero: true,
  },
  EtcdAddr: {
    type: authority(),
    default: "127.0.0.1:2379",
    doc: "etcd server, when `EtcdEndpoints` is empty.",
    local: true,
  },
  EtcdScheme: { type: oneOf(["http", "https"]), default: "http", doc: "Scheme for `EtcdAddr`.", local: true },
  EtcdEndpoints: { type: endpointList(), default: [], doc: "etcd servers.", local: true },
  EtcdKeyFile: { type: file({ mustExist: true }), default: "", doc: "Client key for etcd.", local: true },
  EtcdCertFile: { type: file({ mustExist: true }), default: "", doc: "Client certificate for etcd.", local: true },
  EtcdCaFile: { type: file({ mustExist: true }), default: "", doc: "CA of the etcd servers.", local: true },
  TyphaAddr: {
    type: authority({ ipv6: true }),
    default: "",
    doc: "Address of a Typha, or a name that stands for several. With neither this nor `TyphaK8sServiceName` the agent reads the datastore itself.",
    local: true,
    dieOnFail: true,
  },
  TyphaK8sNamespace: { type: text(), default: "kube-system", doc: "Namespace of Typha's Service.", local: true },
  TyphaK8sServiceName: {
    type: text(),
    default: "",
    doc: "Typha's Service; its ready endpoints are watched.",
    local: true,
  },
  TyphaReadTimeout: {
    type: seconds(),
    default: 30,
    doc: "Longest silence of a Typha, in seconds; three times what it says is between its pings, where that is longer.",
    local: true,
  },
  TyphaWriteTimeout: {
    type: seconds(),
    default: 10,
    doc: "Longest time for a message to Typha to leave, in seconds.",
    local: true,
  },
  TyphaKeyFile: {
    type: file({ mustExist: true }),
    default: "",
    doc: "Client key for Typha. Any TLS setting needs all of key, certificate, CA and an identity.",
    local: true,
    dieOnFail: true,
  },
  TyphaCertFile: {
    type: file({ mustExist: true }),
    default: "",
    doc: "Client certificate for Typha.",
    local: true,
    dieOnFail: true,
  },
  TyphaCAFile: {
    type: file({ mustExist: true }),
    default: "",
    doc: "CA of Typha's certificate.",
    local: true,
    dieOnFail: true,
  },
  TyphaCN: { type: text(), default: "", doc: "Common name that Typha's certificate must have.", local: true },
  TyphaURISAN: {
    type: text(),
    default: "",
    doc: "URI that Typha's certificate must have; it or the common name suffices.",
    local: true,
  },
  LogFilePath: {
    type: file({ mustExist: false }),
    default: "/var/log/calico/felix.log",
    doc: "Log file. `none` switches it off. The default file is left out when it cannot be opened; one that was asked for must open.",
    local: true,
    dieOnFail: true,
  },
  LogSeverityFile: {
    type: oneOf(LOG_SEVERITIES),
    default: "INFO",
    doc: "Least severity in the log file; `none` switches it off.",
  },
  LogSeverityScreen: {
    type: oneOf(LOG_SEVERITIES),
    default: "INFO",
    doc: "Least severity on standard output; `none` switches it off.",
  },
  DebugDisableLogDropping: {
    type: bool(),
    default: false,
    doc: "Wait for a log reader that does not read, instead of dropping lines.",
  },
  StateDir: {
    type: file({ mustExist: false }),
    default: "/var/lib/bulrush",
    doc: "Directory in which the agent keeps what it knows, and starts with when neither Typha nor the datastore is there. `none` switches it off.",
    local: true,
  },
  ReportingIntervalSecs: {
    type: seconds(),
    default: 30,
    doc: "Time between two reports that this agent lives, in seconds; 0 switches them off. Only etcd has a place for reports.",
  },
  ReportingTTLSecs: { type: seconds(), default: 90, doc: "How long such a report counts, in seconds." },
  EndpointReportingEnabled: { type: bool(), default: false, doc: "Report the status of endpoints. Only in etcd." },
  EndpointReportingDelaySecs: { type: seconds(), default: 1, doc: "Time between two such reports, in seconds." },
  OpenstackRegion: { type: text(), default: "", doc: "Region in the keys of reports." },
  TunnelAddresses: {
    type: oneOf(["Disabled", "Enabled"]),
    default: "Disabled",
    doc: "Give this host the addresses of its tunnel devices, out of the pools, and write them to its Node. The agent then needs to write Nodes and IPAM's records; no other allocator may run for this host.",
    local: true,
  },
  HealthEnabled: { type: bool(), default: false, doc: "Serve `/liveness` and `/readiness`." },
  HealthHost: { type: host(), default: "localhost", doc: "Address of the health server." },
  HealthPort: { type: port(), default: 9099, doc: "Port of the health server." },
  HealthTimeoutOverrides: {
    type: textMap(),
    default: new Map<string, string>(),
    doc: "Time-outs of health reporters by name, as durations or seconds: `CalculationGraph=1m30s,InternalDataplaneMainLoop=120`.",
  },
  DataplaneWatchdogTimeout: {
    type: seconds(),
    default: 90,
    doc: "Time without a sign of life of the dataplane after which the agent is not live, in seconds; at least 20.",
  },
  AdminSocketPath: {
    type: text(),
    default: "/var/run/calico/bulrush-agent.sock",
    doc: "Unix socket on which the agent answers `bulrushctl drift` and `bulrushctl flows`; only root may open it. `none` for none.",
    local: true,
  },
  PrometheusMetricsEnabled: { type: bool(), default: false, doc: "Serve `/metrics`." },
  PrometheusMetricsHost: { type: host(), default: "", doc: "Address of the metrics server. Default: all." },
  PrometheusMetricsPort: { type: port(), default: 9091, doc: "Port of the metrics server." },
  PrometheusMetricsCertFile: {
    type: text(),
    default: "",
    doc: "Certificate of the metrics server: it or the key makes it HTTPS.",
  },
  PrometheusMetricsKeyFile: { type: text(), default: "", doc: "Key of the metrics server." },
  PrometheusMetricsCAFile: { type: text(), default: "", doc: "CA of the scrapers' certificates." },
  PrometheusMetricsClientAuth: {
    type: oneOf(CLIENT_AUTH_MODES),
    default: "NoClientCert",
    doc: "What is asked of scrapers.",
  },
  PrometheusGoMetricsEnabled: { type: bool(), default: true, doc: "Metrics of the runtime (`nodejs_*`)." },
  PrometheusWireGuardMetricsEnabled: {
    type: bool(),
    default: true,
    doc: "Metrics of WireGuard's devices and peers (`wireguard_*`), where it is on.",
  },
  PrometheusProcessMetricsEnabled: { type: bool(), default: true, doc: "Metrics of the process (`process_*`)." },
});
