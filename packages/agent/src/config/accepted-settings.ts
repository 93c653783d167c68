import { FELIX_FIELDS } from "@bulrush/model";
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
  KubeNodePortRanges: "node ports need no rule of their own",
  NetlinkTimeoutSecs: "netlink requests are answered before the call returns",
  DebugSimulateCalcGraphHangAfter: "hangs cannot be simulated",
  DebugSimulateDataplaneHangAfter: "hangs cannot be simulated",
} as const;

/** Those of the other parameters of FelixConfiguration, by how their names begin. */
const REASONS_BY_PREFIX: readonly (readonly [prefix: RegExp, reason: string])[] = [
  [/^(BPF|XDP|GenericXDP|CgroupV2|SidecarAcceleration)/, "there is no eBPF dataplane"],
  [/^(Iptables|ChainInsertMode|MaxIpset)/, "the dataplane is nf_tables"],
  [/^(FeatureDetectOverride|FeatureGates)/, "features are found out by trying"],
  [/^FlowLogs/, "flow logs are not sent to anybody"],
  [/^(Go|Debug)/, "it is about a runtime that this is not"],
  [/^Windows/, "there is no Windows dataplane"],
  [/^AWS/, "no cloud's API is called"],
];

/**
 * Parameters of FelixConfiguration that no other table has: accepted, so that nobody who sets them is told of an unknown
 * setting. `known`: those of the other tables.
 */
export function otherFelixSettings(known: ReadonlySet<string>): Readonly<Record<string, Parameter<string>>> {
  const parameters = [...FELIX_FIELDS.values()].filter(({ form }) => form !== "placement").map((row) => row.parameter);
  const others = parameters.filter((name) => !known.has(name)).sort();
  return Object.fromEntries(
    others.map((name) => {
      const reason = REASONS_BY_PREFIX.find(([prefix]) => prefix.test(name))?.[1];
      return [name, accepted(reason ?? "nothing here does what it asks for yet")];
    }),
  );
}

export type AcceptedSettings = { readonly [Name in keyof typeof REASONS]: string };

function accepted(reason: string): Parameter<string> {
  return { type: text(), default: "", doc: "", noEffect: reason };
}

export const ACCEPTED_SETTINGS: ConfigTable<AcceptedSettings> = defineConfig<AcceptedSettings>(
  Object.fromEntries(
    Object.entries(REASONS).map(([name, reason]) => [name, accepted(reason)]),
  ) as unknown as ConfigTable<AcceptedSettings>,
);
