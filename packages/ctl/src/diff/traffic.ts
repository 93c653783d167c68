import type { DataplaneState } from "@bulrush/calc";
import type { DataplaneRule, PortRange } from "@bulrush/proto";
import { setIdsOf } from "./touched.ts";

/** A kind of traffic that rules can tell from others, with one packet that stands for it. */
export interface Traffic {
  readonly protocol: string | number;
  /** First and last destination port of the class; the first stands for it. */
  readonly ports?: PortRange;
  readonly sourcePort?: number;
  readonly icmp?: { readonly type: number; readonly code?: number };
}

export interface TrafficClasses {
  readonly classes: readonly Traffic[];
  /** What was left out for the bounds. */
  readonly bounded: readonly string[];
}

/** Of one protocol. */
const MAX_PORT_CLASSES = 500;
const MAX_SOURCE_PORT_CLASSES = 8;

const WITH_PORTS = ["tcp", "udp", "sctp"] as const;
const NUMBERS: ReadonlyMap<number, string> = new Map([
  [1, "icmp"],
  [6, "tcp"],
  [17, "udp"],
  [58, "icmp"],
  [132, "sctp"],
]);
/** For experiments (RFC 3692): stands for every protocol that no rule names. */
export const OTHER_PROTOCOL = 253;

/**
 * One packet for each kind of traffic that the rules tell apart: protocols, destination ports between the edges that
 * rules, named ports and services have, source ports likewise, ICMP types and codes.
 */
export function trafficOf(rules: readonly DataplaneRule[], states: readonly DataplaneState[]): TrafficClasses {
  const bounded: string[] = [];
  const protocols = new Set<string | number>(["tcp", "udp", "icmp", OTHER_PROTOCOL]);
  const icmps = new Map<string, NonNullable<Traffic["icmp"]>>();
  for (const rule of rules) {
    for (const protocol of [rule.protocol, rule.not_protocol])
      if (protocol !== undefined) protocols.add(nameOf("number" in protocol ? protocol.number : protocol.name));
    for (const icmp of [rule.icmp, rule.not_icmp]) {
      if (icmp === undefined) continue;
      icmps.set(`${icmp.type}`, { type: icmp.type });
      if (icmp.code !== undefined) icmps.set(`${icmp.type} ${icmp.code}`, { type: icmp.type, code: icmp.code });
    }
  }
  for (const protocol of WITH_PORTS)
    if (rules.some((rule) => hasMember(rule, protocol, states))) protocols.add(protocol);
  const classes: Traffic[] = [];
  for (const protocol of protocols) {
    const ported = WITH_PORTS.find((name) => name === protocol);
    if (ported === undefined) {
      classes.push({ protocol });
      if (protocol === "icmp") for (const icmp of icmps.values()) classes.push({ protocol, icmp });
      continue;
    }
    const own = rules.filter((rule) => isOf(rule, ported));
    const ports = intervals([
      ...own.flatMap((rule) => [...(rule.dst_ports ?? []), ...(rule.not_dst_ports ?? [])]),
      ...memberPorts(own, ported, states, "destination"),
    ]);
    if (ports.length > MAX_PORT_CLASSES)
      bounded.push(`${ported}: ${MAX_PORT_CLASSES} of ${ports.length} kinds of ports were looked at`);
    const sources = intervals([
      ...own.flatMap((rule) => [...(rule.src_ports ?? []), ...(rule.not_src_ports ?? [])]),
      ...memberPorts(own, ported, states, "source"),
    ]);
    if (sources.length > MAX_SOURCE_PORT_CLASSES)
      bounded.push(`${ported}: ${MAX_SOURCE_PORT_CLASSES} of ${sources.length} kinds of source ports were looked at`);
    for (const range of ports.slice(0, MAX_PORT_CLASSES))
      if (sources.length === 1) classes.push({ protocol, ports: range });
      else
        for (const { first } of sources.slice(0, MAX_SOURCE_PORT_CLASSES))
          classes.push({ protocol, ports: range, sourcePort: first });
  }
  return { classes, bounded };
}

function nameOf(protocol: string | number): string | number {
  if (typeof protocol === "number") return NUMBERS.get(protocol) ?? protocol;
  const name = protocol.toLowerCase();
  return name === "icmpv6" ? "icmp" : name;
}

function isOf(rule: DataplaneRule, protocol: string): boolean {
  return (
    rule.protocol === undefined ||
    nameOf("number" in rule.protocol ? rule.protocol.number : rule.protocol.name) === protocol
  );
}

/** All ports, cut at every edge of the ranges: each piece lies in each range, or outside of it. */
function intervals(ranges: readonly PortRange[]): readonly PortRange[] {
  const starts = new Set([1]);
  for (const { first, last } of ranges)
    for (const edge of [first, last + 1]) if (edge > 1 && edge <= 65535) starts.add(edge);
  const sorted = [...starts].sort((a, b) => a - b);
  return sorted.map((first, i) => ({ first, last: (sorted[i + 1] ?? 65536) - 1 }));
}

const SOURCE_SETS: ReadonlySet<string> = new Set(["src_named_port_ip_set_ids", "not_src_named_port_ip_set_ids"]);

/** The ports in the sets of a rule whose members have ports. */
function memberPorts(
  rules: readonly DataplaneRule[],
  protocol: string,
  states: readonly DataplaneState[],
  side: "source" | "destination",
): readonly PortRange[] {
  const ids = new Set(
    rules.flatMap((rule) =>
      Object.entries(rule)
        .filter(([field]) => field.endsWith("_ids") && SOURCE_SETS.has(field) === (side === "source"))
        .flatMap(([, value]) => value as readonly string[]),
    ),
  );
  const ports = new Set<number>();
  for (const state of states)
    for (const id of ids) {
      const set = state.ipSets.get(id);
      if (set?.type !== "IP_AND_PORT") continue;
      for (const member of set.members) {
        const [, name, port] = /,([a-z]+):(\d+)$/.exec(member) ?? [];
        if (name === protocol) ports.add(Number(port));
      }
    }
  return [...ports].map((port) => ({ first: port, last: port }));
}

function hasMember(rule: DataplaneRule, protocol: string, states: readonly DataplaneState[]): boolean {
  return states.some((state) =>
    setIdsOf(rule).some((id) => {
      const set = state.ipSets.get(id);
      return set?.type === "IP_AND_PORT" && [...set.members].some((member) => member.includes(`,${protocol}:`));
    }),
  );
}
