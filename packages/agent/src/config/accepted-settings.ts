import { must } from "@bulrush/base";
import { FELIX_FIELDS, felixWithoutEffect } from "@bulrush/model";
import { type ConfigTable, defineConfig, type Parameter, text } from "@bulrush/service";

/** Settings of upstream that are known and do nothing: those that an environment or a file may have too. */
const NAMES = [
  "UsageReportingEnabled",
  "UsageReportingInitialDelaySecs",
  "UsageReportingIntervalSecs",
  "LogSeveritySys",
  "LogDebugFilenameRegex",
  "NFTablesMode",
  "UseInternalDataplaneDriver",
  "DataplaneDriver",
  "PolicySyncPathPrefix",
  "BPFEnabled",
  "KubeNodePortRanges",
  "NetlinkTimeoutSecs",
  "DebugSimulateCalcGraphHangAfter",
  "DebugSimulateDataplaneHangAfter",
] as const;

/**
 * Parameters of FelixConfiguration that no other table has: accepted, so that nobody who sets them is told of an unknown
 * setting. `known`: those of the other tables.
 */
export function otherFelixSettings(known: ReadonlySet<string>): Readonly<Record<string, Parameter<string>>> {
  const parameters = [...FELIX_FIELDS.values()].filter(({ form }) => form !== "placement").map((row) => row.parameter);
  const others = parameters.filter((name) => !known.has(name)).sort();
  return Object.fromEntries(others.map((name) => [name, accepted(name)]));
}

export type AcceptedSettings = { readonly [Name in (typeof NAMES)[number]]: string };

function accepted(name: string): Parameter<string> {
  const noEffect = must(felixWithoutEffect(name), `a reason why ${name} has no effect`);
  return { type: text(), default: "", doc: "", noEffect };
}

export const ACCEPTED_SETTINGS: ConfigTable<AcceptedSettings> = defineConfig<AcceptedSettings>(
  Object.fromEntries(NAMES.map((name) => [name, accepted(name)])) as unknown as ConfigTable<AcceptedSettings>,
);
