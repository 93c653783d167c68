import type { ChainState, RuleState } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { chain, commented } from "./layer.ts";
import { matchBlocks } from "./rule/match-blocks.ts";
import { ruleMatch } from "./rule/rule-match.ts";
import type { SetLookup } from "./set-shape.ts";
import { COUNTER, type Family } from "./statements.ts";
import { CHAIN, type Topology } from "./topology.ts";
import { tunnelMasquerade } from "./vxlan-rules.ts";

/** Ids of the sets of pool networks. */
export const POOL_SETS = {
  /** Pools whose workloads are hidden behind their host when they talk to the outside. */
  masquerade: "masq-ipam-pools",
  /** All pools of workloads: to these, nobody is hidden. */
  all: "network-ip-pools",
} as const;

/** True when the family has something to translate on its way out. */
export function hasPostrouting(topology: Topology, family: Family): boolean {
  return topology.masquerade[family] || (topology.vxlan[family] && topology.tunnelAddress[family]);
}

/**
 * nat-POSTROUTING: workloads of masqueraded pools leave the cluster with their host's address, and the host's own
 * packets enter the tunnel with its address there.
 */
export function natPostroutingChain(
  config: DataplaneConfig,
  topology: Topology,
  family: Family,
  sets: SetLookup,
): ChainState {
  const rules = topology.masquerade[family] ? natOutgoing(config, family, sets) : [];
  if (topology.vxlan[family] && topology.tunnelAddress[family]) rules.push(...tunnelMasquerade(config, family));
  return chain("nat", CHAIN.postrouting, rules);
}

function natOutgoing(config: DataplaneConfig, family: Family, sets: SetLookup): RuleState[] {
  const outgoing: DataplaneRule = {
    action: "allow",
    ip_version: "ANY",
    src_ip_set_ids: [POOL_SETS.masquerade],
    not_dst_ip_set_ids: [POOL_SETS.all],
    rule_id: "",
  };
  const matched = ruleMatch(outgoing, family, sets);
  if (matched === undefined) return [];
  const { before, condition } = matchBlocks(matched.groups, config.marks);
  return [
    ...before,
    commented("NAT outgoing", ...condition, ...matched.statements, COUNTER, {
      kind: "masquerade",
      fullyRandom: true,
    }),
  ];
}
