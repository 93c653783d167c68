import { type CalcGraphConfig, probeConfig, withEncapsulation } from "@bulrush/calc";
import { felixParametersOf } from "@bulrush/datastore";
import type { Update } from "@bulrush/model";
import type { ConfigUpdate, Encapsulation } from "@bulrush/proto";
import type { ConfigLayer, LoadedConfig } from "@bulrush/service";
import { dataplaneTexts, type FelixConfig, loadFelixConfig, type LocalSources } from "./felix-config.ts";

/** What the graph and the dataplane are started with: local settings, the datastore's, and what the pools ask for. */
export interface StartConfig {
  readonly loaded: LoadedConfig<FelixConfig>;
  readonly graph: Partial<CalcGraphConfig>;
  /** For the dataplane, by name. */
  readonly texts: ReadonlyMap<string, string>;
  /** As the graph will say it at first: a later one that differs needs a restart. */
  readonly encapsulation: Encapsulation;
}

/** Facts of the cluster (ClusterInformation) and of this host's tunnels (its Node); not the agent's settings. */
const FOREIGN_NAMES: ReadonlySet<string> = new Set([
  "calicoversion",
  "clusterguid",
  "ipiniptunneladdr",
  "ipv4vxlantunneladdr",
  "ipv6vxlantunneladdr",
  "vxlantunnelmacaddr",
  "vxlantunnelmacaddrv6",
]);

/**
 * Works out the settings from the whole contents of the datastore: first those that it holds, then, with those and the
 * local ones, what the pools ask for.
 *
 * `undefined`: the datastore says of itself that it is not ready.
 */
export function startConfig(updates: Iterable<Update>, hostname: string, local: LocalSources): StartConfig | undefined {
  const contents = [...updates];
  const { isReady, settings } = probeConfig(contents, { hostname, parametersOf: felixParametersOf });
  if (!isReady) return undefined;
  const loaded = loadFelixConfig(local, layersOf(settings));
  const { values } = loaded;
  const config: Partial<CalcGraphConfig> = {
    routeSource: values.RouteSource || "CalicoIPAM",
    programClusterRoutes: values.ProgramClusterRoutes || "EnabledIPIPOnly",
    wireguardEnabled: values.WireguardEnabled || (values.Ipv6Support && values.WireguardEnabledV6),
    istioAmbient: values.IstioAmbientMode === "Enabled",
    explicitIPIPEnabled: values.IpInIpEnabled,
    explicitVXLANEnabled: values.VXLANEnabled,
  };
  const { encapsulation } = probeConfig(contents, { hostname, parametersOf: felixParametersOf, config });
  return { loaded, graph: withEncapsulation(config, encapsulation), texts: dataplaneTexts(loaded), encapsulation };
}

/** The datastore's layers of a ConfigUpdate, strongest first. */
export function layersOf(message: ConfigUpdate): ConfigLayer[] {
  return (["host", "selector", "global"] as const).flatMap((name) => {
    const raw = message.source_to_raw_config.get(name);
    if (raw === undefined) return [];
    const values = new Map([...raw].filter(([setting]) => !FOREIGN_NAMES.has(setting.toLowerCase())));
    return [{ name: `FelixConfiguration (${name})`, values }];
  });
}

/** The fields in which two differ, by name. */
export function encapsulationChanges(before: Encapsulation, after: Encapsulation): readonly string[] {
  return Object.entries(before)
    .filter(([name, value]) => after[name as keyof Encapsulation] !== value)
    .map(([name]) => name);
}
