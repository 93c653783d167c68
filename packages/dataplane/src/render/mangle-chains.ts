import type { ChainState } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { ambientDscpRules } from "./ambient-dscp.ts";
import { dscpRules } from "./dscp-chain.ts";
import { chain, layered, rule } from "./layer.ts";
import type { SetLookup } from "./set-shape.ts";
import {
  clearMark,
  destinationTranslated,
  established,
  type Family,
  jump,
  marked,
  RETURN,
  verdict,
} from "./statements.ts";
import { CHAIN, type Topology } from "./topology.ts";
import { allow } from "./verdicts.ts";

const LAYER = "mangle";

/** mangle-PREROUTING: host endpoint policy for packets by the destination they were sent to, ahead of DNAT. */
export function manglePreroutingChain(config: DataplaneConfig): ChainState {
  const { accept } = config.marks;
  return chain(LAYER, CHAIN.prerouting, [
    rule(established(), ...allow(LAYER, config)),
    rule(marked(accept), ...allow(LAYER, config)),
    rule(jump(layered(LAYER, CHAIN.fromHost))),
    rule(marked(accept), ...allow(LAYER, config)),
  ]);
}

/**
 * mangle-POSTROUTING: the DSCP of connections within an ambient mesh, and of packets that leave the cluster; host endpoint policy for this host's DNATed packets,
 * which filter-OUTPUT has left to us.
 */
export function manglePostroutingChain(
  config: DataplaneConfig,
  topology: Topology,
  family: Family,
  sets: SetLookup,
): ChainState {
  const { accept, pass, scratch0, scratch1 } = config.marks;
  const dscp = [
    ...(topology.ambient ? ambientDscpRules(config, family, sets) : []),
    ...(topology.dscp[family] ? dscpRules(config, family, sets) : []),
  ];
  if (!topology.hostEndpoints) return chain(LAYER, CHAIN.postrouting, dscp);
  return chain(LAYER, CHAIN.postrouting, [
    ...dscp,
    rule(marked(accept), verdict(RETURN)),
    rule(clearMark(accept + pass + scratch0 + scratch1)),
    rule(destinationTranslated(), jump(layered(LAYER, CHAIN.toHost))),
    rule(marked(accept), verdict(RETURN)),
  ]);
}
