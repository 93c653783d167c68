import type { Flow } from "@bulrush/calc";
import type { EndClass } from "./ends.ts";
import type { Traffic } from "./traffic.ts";

/** A flow to be judged for all of its kind. */
export interface CandidateFlow {
  readonly flow: Flow;
  readonly traffic: Traffic;
  readonly ipVersion: 4 | 6;
  readonly toName: string;
}

/** Each pair of ends of which one may say something else, with each class of traffic, in each family that both have. */
export function* flowsOf(
  ends: readonly EndClass[],
  traffic: readonly Traffic[],
): Iterable<readonly [source: EndClass, target: EndClass, candidate: CandidateFlow]> {
  for (const source of ends)
    for (const target of ends) {
      if (!source.touched.includes("egress") && !target.touched.includes("ingress")) continue;
      const to = source === target ? target.other : target;
      if (to === undefined) continue;
      for (const one of traffic)
        for (const ipVersion of source.families) {
          if (!target.families.includes(ipVersion)) continue;
          const flow: Flow = {
            source: source.end,
            destination: to.end,
            protocol: one.protocol,
            ipVersion,
            ...(one.ports !== undefined && { port: one.ports.first }),
            ...(one.sourcePort !== undefined && { sourcePort: one.sourcePort }),
            ...(one.icmp !== undefined && { icmp: one.icmp }),
          };
          yield [source, target, { flow, traffic: one, ipVersion, toName: to.name }];
        }
    }
}

/** How many {@link flowsOf} yields, without walking them: there may be 10^10. Takes a time linear in the ends. */
export function countFlows(ends: readonly EndClass[], trafficClasses: number): number {
  let pairs = 0;
  for (const family of [4, 6] as const) {
    const own = ends.filter((end) => end.families.includes(family));
    const sources = own.filter((end) => end.touched.includes("egress")).length;
    const targets = own.filter((end) => end.touched.includes("ingress")).length;
    // An end without another of its class has no flow to itself.
    const alone = own.filter((end) => end.touched.length > 0 && end.other === undefined).length;
    pairs += sources * own.length + (own.length - sources) * targets - alone;
  }
  return pairs * trafficClasses;
}
