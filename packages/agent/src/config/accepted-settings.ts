import { type ConfigTable, defineConfig, type Parameter, text } from "@bulrush/service";

/** Settings of upstream that are known and do nothing, each with the reason: the tail of "because ...". */
const REASONS = {
  UsageReportingEnabled: "no usage report is ever sent",
  UsageReportingInitialDelaySecs: "no usage report is ever sent",
  UsageReportingIntervalSecs: "no usage report is ever sent",
  LogSeveritySys: "there is no syslog output: standard output goes to the service manager's log",
  LogDebugFilenameRegex: "log lines have no file names",
  NFTablesMode: "the dataplane is nf_tables",
  UseInternalDataplaneDriver: "there is no external dataplane driver",
  DataplaneDriver: "there is no external dataplane driver",
  PolicySyncPathPrefix: "there is no policy-sync socket",
  BPFEnabled: "there is no eBPF dataplane",
  ReportingIntervalSecs: "process status is not reported yet",
  ReportingTTLSecs: "process status is not reported yet",
  EndpointReportingEnabled: "endpoint status is not reported yet",
  EndpointReportingDelaySecs: "endpoint status is not reported yet",
  NFTablesFlowTableOffload: "flow tables are not programmed yet",
  NFTablesFlowTableDataIfacePattern: "flow tables are not programmed yet",
  IstioDSCPMark: "DSCP is not programmed yet",
  IPv4ElevatedRoutePriority: "live migration is not programmed yet",
  IPv6ElevatedRoutePriority: "live migration is not programmed yet",
  LiveMigrationRouteConvergenceTime: "live migration is not programmed yet",
  MetadataAddr: "there is no OpenStack metadata rule",
  MetadataPort: "there is no OpenStack metadata rule",
  KubeNodePortRanges: "node ports need no rule of their own",
  NetlinkTimeoutSecs: "netlink requests are answered before the call returns",
  LocalSubnetL2Reachability: "proxy ARP is left as the host has it",
  DebugSimulateCalcGraphHangAfter: "hangs cannot be simulated",
  DebugSimulateDataplaneHangAfter: "hangs cannot be simulated",
  PrometheusWireGuardMetricsEnabled: "there are no WireGuard metrics yet",
} as const;

export type AcceptedSettings = { readonly [Name in keyof typeof REASONS]: string };

function accepted(reason: string): Parameter<string> {
  return { type: text(), default: "", doc: "", noEffect: reason };
}

export const ACCEPTED_SETTINGS: ConfigTable<AcceptedSettings> = defineConfig<AcceptedSettings>(
  Object.fromEntries(
    Object.entries(REASONS).map(([name, reason]) => [name, accepted(reason)]),
  ) as unknown as ConfigTable<AcceptedSettings>,
);
