import type { FlowVerdict, Outcome } from "@bulrush/calc";
import type { PortRange } from "@bulrush/proto";
import type { Explainer } from "../flow/explain-input.ts";
import { decidedBy } from "../flow/print-verdict.ts";
import { type EndClass, findEnds } from "./ends.ts";
import { type CandidateFlow, countFlows, flowsOf } from "./flows.ts";
import { findTouched, rulesNamed } from "./touched.ts";
import { type Traffic, trafficOf } from "./traffic.ts";
import { Traits } from "./traits.ts";

/** One side that says something else than before. */
export interface SideChange {
  /** "egress", "ingress", or those "at host endpoint node/name". */
  readonly side: string;
  readonly before: SideWord;
  readonly after: SideWord;
}

/** What a side says; "absent" where it does not judge. */
interface SideWord {
  readonly verdict: Outcome["verdict"] | "absent";
  /** As explain names it. */
  readonly by: string;
}

/** Traffic of one kind. */
export interface ChangedTraffic {
  /** A name or number; 253 stands for every protocol that no rule names. */
  readonly protocol: string | number;
  /** Destination ports, merged; absent for protocols without ports. */
  readonly ports?: readonly PortRange[];
  readonly sourcePort?: number;
  readonly icmp?: NonNullable<Traffic["icmp"]>;
  readonly ipVersions: readonly (4 | 6)[];
}

/** Flows between two kinds of ends that are judged otherwise than before, for one reason. */
export interface FlowChange {
  readonly from: string;
  readonly to: string;
  /** How many ends are like these, themselves included. */
  readonly fromCount: number;
  readonly toCount: number;
  readonly before: FlowVerdict["verdict"];
  readonly after: FlowVerdict["verdict"];
  readonly sides: readonly SideChange[];
  readonly traffic: readonly ChangedTraffic[];
  /** True when it is all traffic that there can be. */
  readonly isAllTraffic: boolean;
}

export interface Comparison {
  readonly changes: readonly FlowChange[];
  /** Flows judged, before and after. */
  readonly looked: number;
  /** What was left out for the bounds; empty where all was looked at. */
  readonly bounded: readonly string[];
  readonly endClasses: number;
  readonly trafficClasses: number;
  /** Endpoints that are there only after, or only before. */
  readonly fresh: readonly string[];
  readonly gone: readonly string[];
}

/**
 * Finds the flows that are judged otherwise after than before. Ends, addresses and traffic are put into classes that no
 * rule of the policies concerned can tell apart, and one flow is judged for each pair of ends and class of traffic: so
 * what is found holds for all, and nothing is missed but for the bounds, which are named. Ends that are there only before
 * or only after are not compared.
 */
export function compareWorlds(before: Explainer, after: Explainer, maxFlows: number): Comparison {
  const pair = { before: before.state, after: after.state };
  const touched = findTouched(pair);
  const lists = [...pair.before.policies.keys(), ...pair.after.policies.keys()];
  const profiles = [...pair.before.profiles.keys(), ...pair.after.profiles.keys()].map((name) => `profile/${name}`);
  const states = [pair.before, pair.after];
  const rulesOf = (names: Iterable<string>) =>
    [...new Set(names)].flatMap((name) => states.flatMap((state) => rulesNamed(state, name)));
  const nets = rulesOf([...lists, ...profiles]).flatMap((rule) => [
    ...(rule.src_net ?? []),
    ...(rule.dst_net ?? []),
    ...(rule.not_src_net ?? []),
    ...(rule.not_dst_net ?? []),
  ]);
  const ends = findEnds(pair, new Traits(pair, nets), touched);
  // What an untouched end says of its ports decides as well over flows to it.
  const concerned = ends.classes.flatMap((end) => end.lists);
  const { classes: traffic, bounded } = trafficOf(rulesOf(concerned), states);
  const found = new Map<string, Found>();
  const total = countFlows(ends.classes, traffic.length);
  let looked = 0;
  for (const [source, target, flow] of flowsOf(ends.classes, traffic)) {
    if (looked >= maxFlows) break;
    looked++;
    const [a, b] = [before.explain(flow.flow), after.explain(flow.flow)];
    if (a.verdict !== b.verdict) merge(found, source, target, flow, a, b);
  }
  const all = [
    ...bounded,
    ...(looked === total ? [] : [`${looked} of ${total} flows were looked at: raise --max-flows`]),
  ];
  return {
    changes: [...found.values()].map((one) => changeOf(one, traffic.length)),
    looked,
    bounded: all,
    endClasses: ends.classes.length,
    trafficClasses: traffic.length,
    fresh: ends.fresh,
    gone: ends.gone,
  };
}

/** A change while it is gathered: one entry for each class of traffic and IP version. */
interface Found extends Omit<FlowChange, "traffic" | "isAllTraffic"> {
  readonly families: number;
  readonly hits: { readonly traffic: Traffic; readonly ipVersion: 4 | 6 }[];
}

function merge(
  found: Map<string, Found>,
  source: EndClass,
  target: EndClass,
  { traffic, ipVersion, toName }: CandidateFlow,
  before: FlowVerdict,
  after: FlowVerdict,
): void {
  const sides = sideChanges(before, after);
  const key = JSON.stringify([source.name, target.name, sides]);
  const known = found.get(key);
  if (known !== undefined) {
    known.hits.push({ traffic, ipVersion });
    return;
  }
  found.set(key, {
    from: source.name,
    to: toName,
    fromCount: source.count,
    toCount: target.count,
    before: before.verdict,
    after: after.verdict,
    sides,
    families: source.families.filter((family) => target.families.includes(family)).length,
    hits: [{ traffic, ipVersion }],
  });
}

/** Traffic that differs in its ports or IP version only is told once. */
function changeOf({ hits, families, ...change }: Found, trafficClasses: number): FlowChange {
  const merged = new Map<string, { traffic: Traffic; ports: PortRange[]; versions: Set<4 | 6> }>();
  for (const { traffic, ipVersion } of hits) {
    const key = JSON.stringify([traffic.protocol, traffic.sourcePort, traffic.icmp]);
    const known = merged.get(key) ?? { traffic, ports: [], versions: new Set() };
    merged.set(key, known);
    if (traffic.ports !== undefined) known.ports.push(traffic.ports);
    known.versions.add(ipVersion);
  }
  return {
    ...change,
    traffic: [...merged.values()].map(({ traffic: { protocol, sourcePort, icmp }, ports, versions }) => ({
      protocol,
      ...(ports.length > 0 && { ports: mergedPorts(ports) }),
      ...(sourcePort !== undefined && { sourcePort }),
      ...(icmp !== undefined && { icmp }),
      ipVersions: [...versions].sort((a, b) => a - b),
    })),
    isAllTraffic: hits.length === trafficClasses * families,
  };
}

/** The sides that say something else, or for another reason. */
export function sideChanges(before: FlowVerdict, after: FlowVerdict): SideChange[] {
  const [a, b] = [sidesOf(before), sidesOf(after)];
  const out: SideChange[] = [];
  for (const side of new Set([...a.keys(), ...b.keys()])) {
    const [was, is] = [a.get(side) ?? ABSENT, b.get(side) ?? ABSENT];
    if (was.verdict !== is.verdict || was.by !== is.by) out.push({ side, before: was, after: is });
  }
  return out;
}

const ABSENT: SideWord = { verdict: "absent", by: "" };

function sidesOf({ egress, ingress, hosts = [] }: FlowVerdict): ReadonlyMap<string, SideWord> {
  const out = new Map<string, SideWord>();
  const add = (side: string, outcome: Outcome | undefined): void => {
    if (outcome === undefined) return;
    const decider = decidedBy(outcome);
    out.set(side, { verdict: outcome.verdict, by: decider === "" ? outcome.why : decider });
  };
  add("egress", egress);
  add("ingress", ingress);
  for (const host of hosts) add(`${host.direction} (${host.stage}) at host endpoint ${host.endpoint}`, host);
  return out;
}

function mergedPorts(ports: readonly PortRange[]): readonly PortRange[] {
  const merged: { first: number; last: number }[] = [];
  for (const { first, last } of ports.toSorted((a, b) => a.first - b.first)) {
    const end = merged.at(-1);
    if (end !== undefined && first <= end.last + 1) end.last = Math.max(end.last, last);
    else merged.push({ first, last });
  }
  return merged;
}
