import { describeFlow } from "../lab/matrix.ts";
import type { ClusterWorld } from "./cluster-world.ts";

/** A flow between two pods, and whether it must connect. */
export interface Cell {
  readonly from: string;
  readonly to: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
  readonly connects: boolean;
}

/** Tries flows with real packets. Those that went another way, in words. */
export async function tryCells({ network, prober }: ClusterWorld, cells: readonly Cell[]): Promise<string[]> {
  const probes = cells.map(({ from, to, protocol, port, connects }) => {
    const [source, target] = [network.pod(from), network.pod(to)];
    const address = target?.plan.addresses.find(({ family }) => family === 4);
    if (source === undefined || target === undefined || address === undefined)
      throw new Error(`The lab lacks ${from} or ${to}`);
    return { source, target, probe: { from: source.namespace, to: address, protocol, port, expect: connects } };
  });
  const answers = await prober.run(probes.map(({ probe }) => probe));
  return cells.flatMap(({ connects, protocol, port }, i) => {
    const { source, target, probe } = probes[i] as (typeof probes)[number];
    if (answers[i] === connects) return [];
    const flow = describeFlow({ from: source.plan, to: target.plan, address: probe.to, protocol, port });
    return [`${flow} ${answers[i] === true ? "connects" : "does not connect"}`];
  });
}
