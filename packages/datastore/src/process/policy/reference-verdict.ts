/** What a v1 policy does with a packet, found out the slow way. For the tests of this folder. */
import assert from "node:assert/strict";
import { containsAddress, type Family, parseAddress, parseCidr } from "@bulrush/ip";
import { type Policy, type Port, type Protocol, PROTOCOL_NUMBERS, type Rule } from "@bulrush/model";
import { parseSelector, type Selector } from "@bulrush/selector";

/** Somebody who sends or gets packets. */
export interface Party {
  readonly address: string;
  readonly labels: ReadonlyMap<string, string>;
  /** By name, the number. */
  readonly ports: ReadonlyMap<string, number>;
  /** `namespace/name` of the services that it is behind. */
  readonly services: readonly string[];
}

export interface Packet {
  readonly source: Party;
  readonly destination: Party;
  readonly protocol: number;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly icmpType: number;
  readonly icmpCode: number;
}

/**
 * "continue": the policy is for the endpoint and no rule of it decides, so that it is denied unless another policy lets
 * it go; "apart": the policy is not for it.
 */
export type Verdict = "allow" | "deny" | "pass" | "continue" | "apart";

const CLOSER: Readonly<Record<Verdict, readonly Verdict[]>> = {
  allow: ["allow", "deny", "pass", "continue", "apart"],
  pass: ["pass", "deny"],
  continue: ["continue", "deny"],
  deny: ["deny"],
  apart: ["apart", "continue", "deny"],
};

/** True if a policy that does `found` may stand in for one that was meant to do `meant`. */
export function isNoWider(found: Verdict, meant: Verdict): boolean {
  return CLOSER[meant].includes(found);
}

/** What the policy does with a packet that its endpoint gets ("ingress") or sends. */
export function verdictOf(policy: Policy, packet: Packet, direction: "ingress" | "egress"): Verdict {
  const types = policy.types ?? [];
  if (types.length > 0 && !types.includes(direction)) return "apart";
  const own = direction === "ingress" ? packet.destination : packet.source;
  if (!picks(policy.selector, own)) return "apart";
  for (const rule of direction === "ingress" ? policy.inbound_rules : policy.outbound_rules) {
    if (rule.action === "log" || !matches(rule, packet)) continue;
    if (rule.action === "deny") return "deny";
    return rule.action === "next-tier" || rule.action === "pass" ? "pass" : "allow";
  }
  return "continue";
}

const selectors = new Map<string, Selector>();

function picks(text: string, { labels }: Party): boolean {
  const known = selectors.get(text) ?? parseSelector(text);
  selectors.set(text, known);
  return known.evaluate(labels);
}

function numberOf(protocol: Protocol): number {
  const number = typeof protocol === "number" ? protocol : PROTOCOL_NUMBERS.get(protocol);
  assert.ok(number !== undefined);
  return number;
}

function isFilled(list: readonly unknown[] | undefined): boolean {
  return list !== undefined && list.length > 0;
}

function matches(rule: Rule, packet: Packet): boolean {
  const { source, destination, protocol, icmpType, icmpCode } = packet;
  const family: Family = source.address.includes(":") ? 6 : 4;
  if (rule.ip_version !== undefined && rule.ip_version !== family) return false;
  if (rule.protocol !== undefined && numberOf(rule.protocol) !== protocol) return false;
  if (rule["!protocol"] !== undefined && numberOf(rule["!protocol"]) === protocol) return false;
  const isIcmp = protocol === 1 || protocol === 58;
  if (rule.icmp_type !== undefined && !(isIcmp && rule.icmp_type === icmpType)) return false;
  if (rule.icmp_code !== undefined && !(isIcmp && rule.icmp_code === icmpCode)) return false;
  if (rule["!icmp_type"] !== undefined && isIcmp && rule["!icmp_type"] === icmpType) {
    if (rule["!icmp_code"] === undefined || rule["!icmp_code"] === icmpCode) return false;
  }
  return (
    sideMatches(source, packet.sourcePort, protocol, {
      nets: rule.src_nets,
      notNets: rule["!src_nets"],
      selector: rule.src_selector,
      notSelector: rule["!src_selector"],
      ports: rule.src_ports,
      notPorts: rule["!src_ports"],
      service: rule.src_service === undefined ? undefined : `${rule.src_service_ns ?? ""}/${rule.src_service}`,
    }) &&
    sideMatches(destination, packet.destinationPort, protocol, {
      nets: rule.dst_nets,
      notNets: rule["!dst_nets"],
      selector: rule.dst_selector,
      notSelector: rule["!dst_selector"],
      ports: rule.dst_ports,
      notPorts: rule["!dst_ports"],
      service: rule.dst_service === undefined ? undefined : `${rule.dst_service_ns ?? ""}/${rule.dst_service}`,
    })
  );
}

interface Side {
  readonly nets: readonly string[] | undefined;
  readonly notNets: readonly string[] | undefined;
  readonly selector: string | undefined;
  readonly notSelector: string | undefined;
  readonly ports: readonly Port[] | undefined;
  readonly notPorts: readonly Port[] | undefined;
  readonly service: string | undefined;
}

function sideMatches(party: Party, port: number, protocol: number, side: Side): boolean {
  const { nets = [], notNets = [], selector = "", notSelector = "", ports = [], notPorts = [], service } = side;
  if (nets.length > 0 && !isIn(nets, party.address)) return false;
  if (isFilled(notNets) && isIn(notNets, party.address)) return false;
  if (selector !== "" && !picks(selector, party)) return false;
  if (notSelector !== "" && picks(notSelector, party)) return false;
  if (ports.length > 0 && !(hasPorts(protocol) && isAmong(ports, party, port))) return false;
  if (notPorts.length > 0 && hasPorts(protocol) && isAmong(notPorts, party, port)) return false;
  return service === undefined || party.services.includes(service);
}

function hasPorts(protocol: number): boolean {
  return protocol === 6 || protocol === 17 || protocol === 132;
}

function isIn(nets: readonly string[], text: string): boolean {
  const address = parseAddress(text);
  assert.ok(address !== undefined);
  return nets.some((net) => {
    const cidr = parseCidr(net);
    return cidr !== undefined && cidr.family === address.family && containsAddress(cidr, address);
  });
}

function isAmong(ports: readonly Port[], party: Party, port: number): boolean {
  return ports.some((one) => {
    if (typeof one === "number") return one === port;
    const [low = "", high] = one.split(":");
    if (high !== undefined) return Number(low) <= port && port <= Number(high);
    return party.ports.get(one) === port;
  });
}
