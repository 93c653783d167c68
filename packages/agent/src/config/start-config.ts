import { CalcGraph, type CalcGraphConfig, type CalcMessage } from "@bulrush/calc";
import { felixParametersOf } from "@bulrush/datastore";
import { type Update, validateV1 } from "@bulrush/model";
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

/** Set by ClusterInformation; not the agent's settings. */
const FOREIGN_NAMES: ReadonlySet<string> = new Set(["calicoversion", "clusterguid", "clustertype"]);

const NO_ENCAPSULATION: Encapsulation = {
  msg: "Encapsulation",
  ipip_enabled: false,
  vxlan_enabled: false,
  vxlan_enabled_v6: false,
  no_encap_needed: false,
};

/**
 * Works out the settings from the whole contents of the datastore. The datastore's part is taken from graphs that see
 * only what matters here, so that layers, selectors and pools are read in one way only: first the settings, then, with
 * those, what the pools ask for.
 *
 * `undefined`: the datastore says of itself that it is not ready.
 */
export function startConfig(updates: Iterable<Update>, hostname: string, local: LocalSources): StartConfig | undefined {
  const relevant = [...updates].filter(shapesConfig);
  const first = probe(relevant, hostname, {});
  if (first.some(({ msg }) => msg === "DatastoreNotReady")) return undefined;
  const config = first.find((message) => message.msg === "ConfigUpdate");
  const loaded = loadFelixConfig(local, config === undefined ? [] : layersOf(config));
  const { values } = loaded;
  const chosen: Partial<CalcGraphConfig> = {
    routeSource: values.RouteSource || "CalicoIPAM",
    programClusterRoutes: values.ProgramClusterRoutes || "EnabledIPIPOnly",
    wireguardEnabled: values.WireguardEnabled,
    istioAmbient: values.IstioAmbientMode === "Enabled",
    explicitIPIPEnabled: values.IpInIpEnabled,
    explicitVXLANEnabled: values.VXLANEnabled,
  };
  const second = probe(relevant, hostname, chosen);
  const encapsulation = second.find((message) => message.msg === "Encapsulation") ?? NO_ENCAPSULATION;
  const graph: Partial<CalcGraphConfig> = {
    ...chosen,
    ipipEnabled: encapsulation.ipip_enabled,
    vxlanEnabled: encapsulation.vxlan_enabled,
    vxlanEnabledV6: encapsulation.vxlan_enabled_v6,
    noEncapNeeded: encapsulation.no_encap_needed,
  };
  return { loaded, graph, texts: dataplaneTexts(loaded), encapsulation };
}

/** What a graph with this configuration says of these contents. */
function probe(updates: readonly Update[], hostname: string, config: Partial<CalcGraphConfig>): CalcMessage[] {
  const messages: CalcMessage[] = [];
  const sink = (message: CalcMessage): void => void messages.push(message);
  const graph = new CalcGraph({ hostname, config, parametersOf: felixParametersOf, sink });
  graph.onStatusUpdated("resync");
  graph.onUpdates(updates);
  graph.onStatusUpdated("in-sync");
  graph.flush();
  return messages;
}

/** True for what settings come from, where it is valid: the graph trusts what it is given. */
function shapesConfig({ key, value }: Update): boolean {
  switch (key.type) {
    case "GlobalConfig":
    case "HostConfig":
    case "ReadyFlag":
    case "IPPool":
      return value !== undefined && validateV1(key, value).length === 0;
    case "Resource":
      if (key.kind !== "FelixConfiguration" && key.kind !== "Node") return false;
      return value !== undefined && validateV1(key, value).length === 0;
    default:
      return false;
  }
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
