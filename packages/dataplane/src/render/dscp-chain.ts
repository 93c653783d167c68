import type { ChainState, RuleState } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { chain, layered, rule } from "./layer.ts";
import { POOL_SETS } from "./nat-chains.ts";
import { matchBlocks } from "./rule/match-blocks.ts";
import { ruleMatch } from "./rule/rule-match.ts";
import type { SetLookup } from "./set-shape.ts";
import { address, COUNTER, equals, type Family, fibType, jump, match, RETURN, verdict } from "./statements.ts";
import { CHAIN } from "./topology.ts";

/** Id of the set of endpoints that have a DSCP. */
export const DSCP_SET = "dscp-src-net";

/** `cali-egress-dscp`: one rule for each DSCP, with all addresses that have it. */
export function dscpChain(addresses: ReadonlyMap<number, readonly string[]>, family: Family): ChainState {
  const rules = [...addresses]
    .sort(([a], [b]) => a - b)
    .map(([dscp, elements]) =>
      rule(
        match(address("src", family), "==", { kind: "anonymous", elements: [...elements].sort() }),
        COUNTER,
        { kind: "set-dscp", family, dscp },
        verdict(RETURN),
      ),
    );
  return chain("mangle", CHAIN.egressDscp, rules);
}

/** To that chain: packets of such endpoints that leave the cluster. */
export function dscpRules(config: DataplaneConfig, family: Family, sets: SetLookup): RuleState[] {
  const leaving: DataplaneRule = {
    action: "allow",
    ip_version: "ANY",
    src_ip_set_ids: [DSCP_SET],
    not_dst_ip_set_ids: [POOL_SETS.all],
    rule_id: "",
  };
  const matched = ruleMatch(leaving, family, sets);
  if (matched === undefined) return [];
  const { before, condition } = matchBlocks(matched.groups, config.marks);
  const elsewhere = { ...equals(fibType("daddr"), "local"), op: "!=" as const };
  return [...before, rule(...condition, ...matched.statements, elsewhere, jump(layered("mangle", CHAIN.egressDscp)))];
}
