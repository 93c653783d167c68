import type { RuleState, Statement } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { FLOW_LOG_GROUPS, type FlowSource, formatFlowPrefix } from "./flow-prefix.ts";

/** What one rule may hand up: more is still judged, and not told. */
const PER_SECOND = 10;
const BURST = 50;
/** Of each packet: the headers, with room for extension headers. */
const SNAP_BYTES = 128;

/**
 * The rule ahead of a denying or logging one that hands packets up to the flow log; none where it is switched off. It
 * decides nothing and counts nothing. A rule of its own, since a limit in the other one would let packets past it.
 */
export function flowLogRules(
  condition: readonly Statement[],
  source: FlowSource,
  { flowLog }: Pick<DataplaneConfig, "flowLog">,
): RuleState[] {
  if (!flowLog) return [];
  return [
    {
      statements: [
        ...condition,
        { kind: "limit", rate: PER_SECOND, unit: "second", burst: BURST, over: false },
        {
          kind: "nflog",
          group: FLOW_LOG_GROUPS[source.direction],
          prefix: formatFlowPrefix(source),
          snaplen: SNAP_BYTES,
        },
      ],
    },
  ];
}
