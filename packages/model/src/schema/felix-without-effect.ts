/** Parameters that are known and do nothing, each with the reason: the tail of "because ...". */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["UsageReportingEnabled", "no usage report is ever sent"],
  ["UsageReportingInitialDelaySecs", "no usage report is ever sent"],
  ["UsageReportingIntervalSecs", "no usage report is ever sent"],
  ["LogSeveritySys", "there is no syslog output: standard output goes to the service manager's log"],
  ["LogDebugFilenameRegex", "log lines have no file names"],
  ["NFTablesMode", "the dataplane is nf_tables"],
  ["UseInternalDataplaneDriver", "there is no external dataplane driver"],
  ["DataplaneDriver", "there is no external dataplane driver"],
  ["PolicySyncPathPrefix", "there is no policy-sync socket"],
  ["KubeNodePortRanges", "node ports need no rule of their own"],
  ["NetlinkTimeoutSecs", "netlink requests are answered before the call returns"],
  ["DebugSimulateCalcGraphHangAfter", "hangs cannot be simulated"],
  ["DebugSimulateDataplaneHangAfter", "hangs cannot be simulated"],
  ["RequireMTUFile", "nothing here does what it asks for yet"],
]);

/** The same, by how their names begin. */
const REASONS_BY_PREFIX: readonly (readonly [prefix: RegExp, reason: string])[] = [
  [/^(BPF|XDP|GenericXDP|CgroupV2|SidecarAcceleration)/, "there is no eBPF dataplane"],
  [/^(Iptables|ChainInsertMode|MaxIpset)/, "the dataplane is nf_tables"],
  [/^(FeatureDetectOverride|FeatureGates)/, "features are found out by trying"],
  [/^FlowLogs/, "flow logs are not sent to anybody"],
  [/^(Go|Debug)/, "it is about a runtime that this is not"],
  [/^Windows/, "there is no Windows dataplane"],
  [/^AWS/, "no cloud's API is called"],
];

/** Named like those, and with an effect. */
const IN_USE: ReadonlySet<string> = new Set([
  "DebugDisableLogDropping",
  "FlowLogsLocalReporter",
  "IptablesNATOutgoingInterfaceFilter",
]);

/** Why a parameter of FelixConfiguration has no effect here; undefined for one that has, or that is not known. */
export function felixWithoutEffect(parameter: string): string | undefined {
  if (IN_USE.has(parameter)) return undefined;
  return REASONS.get(parameter) ?? REASONS_BY_PREFIX.find(([prefix]) => prefix.test(parameter))?.[1];
}
