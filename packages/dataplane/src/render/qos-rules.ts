import type { ChainState } from "@bulrush/nftables";
import type { DataplaneWorkloadEndpoint } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { chain, commented, rule } from "./layer.ts";
import { connectionLimitChain, type Direction } from "./names.ts";
import { clearMark, COUNTER, equals, marked, meta, setMark } from "./statements.ts";
import { deny } from "./verdicts.ts";

const LAYER = "filter";

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
 * never comes here. It is a chain of its own, since a rule that is written anew has forgotten the connections that there
 * are: so it stays while the endpoint's chain changes.
 */
export function renderConnectionLimit(
  interfaceName: string,
  direction: Direction,
  connections: number,
  config: DataplaneConfig,
): ChainState {
  const { scratch0 } = config.marks;
  return chain(LAYER, connectionLimitChain(direction, interfaceName), [
    rule(clearMark(scratch0)),
    rule({ kind: "connlimit", count: connections, over: true }, setMark(scratch0)),
    commented("Connection limit", marked(scratch0), equals(meta("l4proto"), "tcp"), COUNTER, {
      kind: "reject",
      with: "tcp-reset",
    }),
    commented("Connection limit", marked(scratch0), ...deny(LAYER, config)),
  ]);
}
