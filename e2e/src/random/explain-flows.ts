import type { FlowVerdict } from "@bulrush/calc";
import type { Update } from "@bulrush/model";
import { ECHO_REQUEST } from "../lab/icmp-packet.ts";
import { Judge } from "../lab/judge.ts";
import type { RandomFlow } from "./random-flows.ts";

/** A judge that has seen this state and no other: what it says owes nothing to how the state came about. */
export function freshJudge(updates: readonly Update[]): Judge {
  const judge = new Judge();
  judge.update(updates);
  return judge;
}

export function explainRandomFlow(judge: Judge, flow: RandomFlow): FlowVerdict {
  return judge.explain({
    source: { workload: flow.from },
    destination: { workload: flow.to },
    protocol: flow.protocol,
    ipVersion: flow.family,
    ...(flow.protocol === "ICMP" ? { icmp: { type: ECHO_REQUEST[flow.family], code: 0 } } : { port: flow.port }),
    ...(flow.sourcePort === undefined ? {} : { sourcePort: flow.sourcePort }),
  });
}
