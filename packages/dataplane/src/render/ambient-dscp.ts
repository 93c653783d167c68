import type { RuleState } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { rule } from "./layer.ts";
import { matchBlocks } from "./rule/match-blocks.ts";
import { ruleMatch } from "./rule/rule-match.ts";
import type { SetLookup } from "./set-shape.ts";
import { COUNTER, type Family, newFlow, outInterfaces } from "./statements.ts";

/** Id of the set of pods, of all hosts, that take part in Istio's ambient mesh. Sent while the mode is on. */
export const AMBIENT_SET = "all-istio-weps";

/**
 * The first packet of a TCP connection between two such pods, on its way to the one that is here, gets a DSCP that tells
 * that both ends are in the mesh.
 */
export function ambientDscpRules(config: DataplaneConfig, family: Family, sets: SetLookup): RuleState[] {
  const within: DataplaneRule = {
    action: "allow",
    ip_version: "ANY",
    protocol: { name: "tcp" },
    src_ip_set_ids: [AMBIENT_SET],
    dst_ip_set_ids: [AMBIENT_SET],
    rule_id: "",
  };
  const matched = ruleMatch(within, family, sets);
  if (matched === undefined) return [];
  const { before, condition } = matchBlocks(matched.groups, config.marks);
  return [
    ...before,
    ...config.interfacePrefixes.map((prefix) =>
      rule(newFlow(), outInterfaces(prefix), ...condition, ...matched.statements, COUNTER, {
        kind: "set-dscp",
        family,
        dscp: config.ambientDscp,
      }),
    ),
  ];
}
