import type { FlowtableState, RuleState } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { rule } from "./layer.ts";
import { setName } from "./names.ts";
import { address, established, type Family, inInterfaces, notInSet, outInterfaces } from "./statements.ts";

/** The flow table of each family's table. */
const FLOW_TABLE = "calico";

/** Addresses whose flows have to meet the rules, or queues behind them, packet by packet. */
export function offloadExceptions(family: Family): string {
  return setName(family, "no-flow-offload");
}

export function flowTable(family: Family): FlowtableState {
  return { name: FLOW_TABLE, except: offloadExceptions(family) };
}

/**
 * Established flows from and to workloads are handed to the flow table. Behind the chain of endpoints that are down by
 * their owner's wish, and ahead of all else: policy lets through what is established.
 */
export function flowOffloadRules(config: DataplaneConfig, family: Family): RuleState[] {
  if (!config.flowOffload) return [];
  const exceptions = offloadExceptions(family);
  const statements: RuleState["statements"] = [
    established(),
    notInSet(address("src", family), exceptions),
    notInSet(address("dst", family), exceptions),
    { kind: "flow-offload", flowtable: FLOW_TABLE },
  ];
  return config.interfacePrefixes.flatMap((prefix) => [
    rule(inInterfaces(prefix), ...statements),
    rule(outInterfaces(prefix), ...statements),
  ]);
}
