import type { ChainState } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { chain, commented } from "./layer.ts";
import { matchBlocks } from "./rule/match-blocks.ts";
import { ruleMatch } from "./rule/rule-match.ts";
import type { SetLookup } from "./set-shape.ts";
import { COUNTER, type Family } from "./statements.ts";
import { CHAIN } from "./topology.ts";

/** Ids of the sets of pool networks. */
export const POOL_SETS = {
  /** Pools whose workloads are hidden behind their host when they talk to the outside. */
  masquerade: "masq-ipam-pools",
  /** All pools of workloads: to these, nobody is hidden. */
  all: "network-ip-pools",
} as const;

/** nat-POSTROUTING: workloads of masqueraded pools leave the cluster with their host's address. */
export function natPostroutingChain(config: DataplaneConfig, family: Family, sets: SetLookup): ChainState {
  const outgoing: DataplaneRule = {
    action: "allow",
    ip_version: "ANY",
    src_ip_set_ids: [POOL_SETS.masquerade],
    not_dst_ip_set_ids: [POOL_SETS.all],
    rule_id: "",
  };
  const matched = ruleMatch(outgoing, family, sets);
  if (matched === undefined) return chain("nat", CHAIN.postrouting, []);
  const { before, condition } = matchBlocks(matched.groups, config.marks);
  return chain("nat", CHAIN.postrouting, [
    ...before,
    commented("NAT outgoing", ...condition, ...matched.statements, COUNTER, {
      kind: "masquerade",
      fullyRandom: true,
    }),
  ]);
}
