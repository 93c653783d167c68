import { isDeepStrictEqual } from "node:util";
import type { LoadedConfig, Parameter } from "@bulrush/service";
import { DATAPLANE_SETTINGS } from "./dataplane-settings.ts";
import { FELIX_CONFIG, type FelixConfig } from "./felix-config.ts";

/** Settings that the graph is made with. */
const GRAPH_SETTINGS: ReadonlySet<string> = new Set([
  "IpInIpEnabled",
  "IstioAmbientMode",
  "ProgramClusterRoutes",
  "RouteSource",
  "VXLANEnabled",
  "WireguardEnabled",
  "WireguardEnabledV6",
]);

/**
 * Settings of the filter before the graph. What it refuses is not in the saved state, and no source sends it again to an
 * agent that runs.
 */
const RESTART_SETTINGS: ReadonlySet<string> = new Set(["WorkloadSourceSpoofing"]);

/**
 * What takes up a change of a setting while the agent runs: the process itself; another dataplane, which adopts the
 * kernel's state; another graph and dataplane, from the saved state; or another process. None of them leaves a moment
 * without rules.
 */
export type ChangeTakenBy = "process" | "dataplane" | "graph" | "restart";

export function changeTakenBy(name: string): ChangeTakenBy {
  if (RESTART_SETTINGS.has(name)) return "restart";
  if (GRAPH_SETTINGS.has(name)) return "graph";
  return name in DATAPLANE_SETTINGS ? "dataplane" : "process";
}

/** False: the setting is only accepted. */
function hasEffect(name: string): boolean {
  return (FELIX_CONFIG as Readonly<Record<string, Parameter<unknown>>>)[name]?.noEffect === undefined;
}

/** The settings that mean something else than before and have an effect, in order of name. */
export function changedSettings(
  before: LoadedConfig<FelixConfig>,
  after: LoadedConfig<FelixConfig>,
): readonly string[] {
  const names = new Set([...before.origins.keys(), ...after.origins.keys()]);
  return [...names]
    .filter((name) => hasEffect(name))
    .filter((name) => before.origins.get(name)?.text !== after.origins.get(name)?.text)
    .filter((name) => !isDeepStrictEqual(valueOf(before, name), valueOf(after, name)))
    .sort();
}

/** `after`, but for the settings that cannot be read any more: what they said before stays in force. */
export function withLastGood(
  before: LoadedConfig<FelixConfig>,
  after: LoadedConfig<FelixConfig>,
): LoadedConfig<FelixConfig> {
  const values = { ...after.values } as FelixConfig & Record<string, unknown>;
  const origins = new Map(after.origins);
  for (const name of after.rejected) {
    const origin = before.origins.get(name);
    if (origin === undefined) continue;
    origins.set(name, origin);
    Object.assign(values, { [name]: valueOf(before, name) });
  }
  return { ...after, values, origins };
}

function valueOf({ values }: LoadedConfig<FelixConfig>, name: string): unknown {
  return (values as unknown as Readonly<Record<string, unknown>>)[name];
}

/** Who takes up a change in the datastore; "none": nobody, as the setting is not read from there or has no effect. */
export function settingChange(name: string): ChangeTakenBy | "none" {
  const { local } = (FELIX_CONFIG as Readonly<Record<string, Parameter<unknown>>>)[name] ?? {};
  return local === true || !hasEffect(name) ? "none" : changeTakenBy(name);
}

/** For the reference: what becomes of a change in the datastore. */
export function changeInWords(name: string): string {
  switch (settingChange(name)) {
    case "none":
      return "-";
    case "process":
      return "live";
    case "dataplane":
      return "live, by a new dataplane";
    case "graph":
      return "live, by a new graph; a restart (exit 129) without `StateDir`";
    case "restart":
      return "a restart (exit 129)";
  }
}
