import { type Update, validateV1 } from "@bulrush/model";
import type { ConfigUpdate, Encapsulation } from "@bulrush/proto";
import type { ParametersOf } from "../passthrough/config-batcher.ts";
import { CalcGraph } from "./calc-graph.ts";
import type { CalcGraphConfig } from "./config.ts";

/** What the contents of a datastore say of the configuration of one host. */
export interface ProbedConfig {
  /** False: the datastore says of itself that it is not ready. */
  readonly isReady: boolean;
  /** The datastore's settings. */
  readonly settings: ConfigUpdate;
  /** What the pools ask for, as far as the probing configuration lets them. */
  readonly encapsulation: Encapsulation;
}

/** Whose configuration, and what is known of it. */
export interface ProbeOptions {
  readonly hostname: string;
  readonly parametersOf: ParametersOf;
  /** What is known already. Default: nothing. */
  readonly config?: Partial<CalcGraphConfig>;
}

const NO_SETTINGS: ConfigUpdate = { msg: "ConfigUpdate", config: new Map(), source_to_raw_config: new Map() };

const NO_ENCAPSULATION: Encapsulation = {
  msg: "Encapsulation",
  ipip_enabled: false,
  vxlan_enabled: false,
  vxlan_enabled_v6: false,
  no_encap_needed: false,
};

/**
 * Finds out what to start a graph with, before there is one: takes it from a graph that sees only what matters here, so
 * that layers, selectors and pools are read in one way only. Call it first for the settings, then, with what they say,
 * for the encapsulation. Updates that are not valid do not count.
 */
export function probeConfig(updates: Iterable<Update>, options: ProbeOptions): ProbedConfig {
  let isReady = true;
  let settings = NO_SETTINGS;
  let encapsulation = NO_ENCAPSULATION;
  const graph = new CalcGraph({
    hostname: options.hostname,
    config: options.config ?? {},
    parametersOf: options.parametersOf,
    sink(message) {
      if (message.msg === "DatastoreNotReady") isReady = false;
      else if (message.msg === "ConfigUpdate") settings = message;
      else if (message.msg === "Encapsulation") encapsulation = message;
    },
  });
  graph.onStatusUpdated("resync");
  graph.onUpdates([...updates].filter(shapesConfig));
  graph.onStatusUpdated("in-sync");
  graph.flush();
  return { isReady, settings, encapsulation };
}

/** `config` with what the pools ask for. */
export function withEncapsulation(
  config: Partial<CalcGraphConfig>,
  encapsulation: Encapsulation,
): Partial<CalcGraphConfig> {
  return {
    ...config,
    ipipEnabled: encapsulation.ipip_enabled,
    vxlanEnabled: encapsulation.vxlan_enabled,
    vxlanEnabledV6: encapsulation.vxlan_enabled_v6,
    noEncapNeeded: encapsulation.no_encap_needed,
  };
}

/** True for what settings come from, where it is valid: the graph trusts what it is given. */
function shapesConfig({ key, value }: Update): boolean {
  if (value === undefined) return false;
  switch (key.type) {
    case "GlobalConfig":
    case "HostConfig":
    case "ReadyFlag":
    case "IPPool":
      return validateV1(key, value).length === 0;
    case "Resource":
      return (key.kind === "FelixConfiguration" || key.kind === "Node") && validateV1(key, value).length === 0;
    default:
      return false;
  }
}
