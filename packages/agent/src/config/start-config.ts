import { CalcGraph, type CalcGraphConfig, type CalcMessage } from "@bulrush/calc";
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
  readonly encapsulation: Encapsulation | undefined;
}

/** Set by ClusterInformation; not the agent's settings. */
const FOREIGN_NAMES: ReadonlySet<string> = new Set(["calicoversion", "clusterguid", "clustertype"]);

/**
 * Works out the settings from the whole contents of the datastore. The datastore's part is taken from a graph of its own
 * that sees only what matters here, so that layers, selectors and pools are read in one way only.
 *
 * `undefined`: the datastore says of itself that it is not ready.
 */
export function startConfig(updates: Iterable<Update>, hostname: string, local: LocalSources): StartConfig | undefined {
  const messages: CalcMessage[] = [];
  const probe = new CalcGraph({ hostname, sink: (message) => void messages.push(message) });
  probe.onStatusUpdated("resync");
  probe.onUpdates([...updates].filter(shapesConfig));
  probe.onStatusUpdated("in-sync");
  probe.flush();
  if (messages.some((message) => message.msg === "DatastoreNotReady")) return undefined;

  const config = messages.find((message) => message.msg === "ConfigUpdate");
  const encapsulation = messages.find((message) => message.msg === "Encapsulation");
  const loaded = loadFelixConfig(local, config === undefined ? [] : layersOf(config));
  const { values } = loaded;
  const graph: Partial<CalcGraphConfig> = {
    routeSource: values.RouteSource || "CalicoIPAM",
    programClusterRoutes: values.ProgramClusterRoutes || "EnabledIPIPOnly",
    wireguardEnabled: values.WireguardEnabled,
    istioAmbient: values.IstioAmbientMode === "Enabled",
    explicitIPIPEnabled: values.IpInIpEnabled,
    explicitVXLANEnabled: values.VXLANEnabled,
    ipipEnabled: values.IpInIpEnabled ?? encapsulation?.ipip_enabled ?? false,
    vxlanEnabled: values.VXLANEnabled ?? encapsulation?.vxlan_enabled ?? false,
    vxlanEnabledV6: encapsulation?.vxlan_enabled_v6 ?? false,
    noEncapNeeded: encapsulation?.no_encap_needed ?? false,
  };
  return { loaded, graph, texts: dataplaneTexts(loaded), encapsulation };
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
