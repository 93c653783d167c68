import type { RuleState } from "@bulrush/nftables";
import type { DataplaneWorkloadEndpoint } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { commented, type Layer, rule } from "./layer.ts";
import type { Direction } from "./names.ts";
import { clearMark, COUNTER, equals, marked, meta, setMark } from "./statements.ts";
import { deny } from "./verdicts.ts";

export interface PacketRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** How much of what a workload may receive (or send). Absent: without bound. */
export interface QosLimits {
  readonly packets?: PacketRate;
  readonly connections?: number;
}

/** What nft's own `limit` has as burst where none is said. */
const DEFAULT_BURST = 5;

export function qosLimits(controls: DataplaneWorkloadEndpoint["qos_controls"], direction: Direction): QosLimits {
  const perSecond = controls?.[`${direction}PacketRate`] ?? 0;
  const connections = controls?.[`${direction}MaxConnections`] ?? 0;
  const burst = controls?.[`${direction}PacketBurst`] ?? DEFAULT_BURST;
  return {
    ...(perSecond > 0 ? { packets: { perSecond, burst } } : {}),
    ...(connections > 0 ? { connections } : {}),
  };
}

/**
 * New connections above the number, of whatever protocol: a TCP client is told at once, others are denied. The count is
 * asked in one rule, since each rule that asks keeps a count of its own; a mark remembers the answer. What is established
 * never comes here.
 */
export function connectionLimitRules({ connections }: QosLimits, layer: Layer, config: DataplaneConfig): RuleState[] {
  if (connections === undefined) return [];
  const { scratch0 } = config.marks;
  return [
    rule(clearMark(scratch0)),
    rule({ kind: "connlimit", count: connections, over: true }, setMark(scratch0)),
    commented("Connection limit", marked(scratch0), equals(meta("l4proto"), "tcp"), COUNTER, {
      kind: "reject",
      with: "tcp-reset",
    }),
    commented("Connection limit", marked(scratch0), ...deny(layer, config)),
  ];
}
