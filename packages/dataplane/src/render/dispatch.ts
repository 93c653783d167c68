import type { ChainState, RuleState, Verdict, VerdictMapState } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { chain, commented, type Layer, layered, rule } from "./layer.ts";
import { goto, inInterfaces, meta, outInterfaces, RETURN, verdict } from "./statements.ts";
import { deny } from "./verdicts.ts";

/** Which interface of the packet is looked up: where it came from, or where it goes. */
export type PacketSide = "in" | "out";

/** A lookup chain and the map that it asks. They have the same name. */
export interface Dispatch {
  readonly chain: ChainState;
  readonly map: VerdictMapState;
}

/** Interface names and the chains (without the layer) of their endpoints. */
export type ChainByInterface = ReadonlyMap<string, string>;

function dispatchMap(layer: Layer, name: string, chains: ChainByInterface): VerdictMapState {
  const elements = new Map<string, Verdict>();
  for (const [interfaceName, target] of chains)
    elements.set(interfaceName, { kind: "goto", chain: layered(layer, target) });
  return { name: layered(layer, name), key: "ifname", elements };
}

function lookup(layer: Layer, name: string, side: PacketSide): RuleState {
  return rule({ kind: "vmap", key: meta(side === "in" ? "iifname" : "oifname"), map: layered(layer, name) });
}

/** To the chain of the workload on the packet's interface. An interface without one is closed. */
export function workloadDispatch(
  name: string,
  side: PacketSide,
  chains: ChainByInterface,
  config: DataplaneConfig,
): Dispatch {
  return {
    chain: chain("filter", name, [
      lookup("filter", name, side),
      commented("Unknown interface", ...deny("filter", config)),
    ]),
    map: dispatchMap("filter", name, chains),
  };
}

/** The wildcard endpoint, which stands for every interface without an endpoint of its own. */
export interface WildcardDispatch {
  /** Its chain, without the layer. */
  readonly chain: string;
  /** False: interfaces of workloads are left out. */
  readonly judgesWorkloads: boolean;
}

/**
 * To the chain of the host endpoint on the packet's interface, or to that of the wildcard endpoint. A packet that meets
 * neither goes on unjudged.
 */
export function hostDispatch(
  layer: Layer,
  name: string,
  side: PacketSide,
  chains: ChainByInterface,
  wildcard: WildcardDispatch | undefined,
  config: DataplaneConfig,
): Dispatch {
  const rules: RuleState[] = [lookup(layer, name, side)];
  if (wildcard !== undefined) {
    if (!wildcard.judgesWorkloads)
      for (const prefix of config.interfacePrefixes)
        rules.push(rule(side === "in" ? inInterfaces(prefix) : outInterfaces(prefix), verdict(RETURN)));
    rules.push(rule(goto(layered(layer, wildcard.chain))));
  }
  return { chain: chain(layer, name, rules), map: dispatchMap(layer, name, chains) };
}
