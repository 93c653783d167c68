import { type Address, containsAddress, formatAddress, parseCidr } from "@bulrush/ip";
import type { DataplaneRule, IcmpMatch, PortRange, RuleProtocol } from "@bulrush/proto";
import type { IpSetDescription } from "../graph/calc-graph.ts";
import type { DataplaneState } from "../state/dataplane-state.ts";
import { hasPorts, ownIcmp, type Packet, protocolNumber, protocolText } from "./packet.ts";

export type RuleResult =
  | { readonly outcome: "matched" }
  | { readonly outcome: "not-matched" | "omitted"; readonly why: string };

export interface MatchContext {
  readonly state: DataplaneState;
  readonly packet: Packet;
  readonly describeIpSet: ((id: string) => IpSetDescription | undefined) | undefined;
  /**
   * Why an address (and port) is in a set of this description, or is not: who has it, and which terms of the selector
   * hold or fail. "" where there is nothing to add.
   */
  readonly describeMember?: ((set: IpSetDescription, address: Address) => string) | undefined;
}

const MATCHED: RuleResult = { outcome: "matched" };

/**
 * Whether a rule holds for the packet, as the kernel would find: all conditions must. The first that does not is named.
 */
export function matchRule(rule: DataplaneRule, context: MatchContext): RuleResult {
  const omitted = omissionOf(rule, context.packet.ipVersion);
  if (omitted !== undefined) return { outcome: "omitted", why: omitted };
  const why =
    failedProtocol(rule, context.packet) ??
    failedSide("source", sourceOf(rule, context.packet), context) ??
    failedSide("destination", destinationOf(rule, context.packet), context) ??
    failedServicePorts(rule, context);
  return why === undefined ? MATCHED : { outcome: "not-matched", why };
}

/** Why the rule is not there at all for this IP version. */
function omissionOf(rule: DataplaneRule, version: 4 | 6): string | undefined {
  if (rule.ip_version !== "ANY" && rule.ip_version !== version) return `the rule is for IPv${rule.ip_version} only`;
  for (const [what, nets, negated] of [
    ["source networks", rule.src_net, false],
    ["destination networks", rule.dst_net, false],
    ["excluded source networks", rule.not_src_net, true],
    ["excluded destination networks", rule.not_dst_net, true],
  ] as const) {
    if (nets === undefined || nets.length === 0) continue;
    const ofFamily = nets.filter((net) => net.includes(":") === (version === 6));
    if (ofFamily.length === 0) return `none of its ${what} is an IPv${version} one`;
    if (negated && ofFamily.some((net) => net.endsWith("/0"))) return `its ${what} take in all of IPv${version}`;
  }
  return undefined;
}

/** Ports by number stand for TCP, UDP and SCTP where the rule names no protocol. */
const NUMERIC_PORTS = ["src_ports", "dst_ports", "not_src_ports", "not_dst_ports"] as const;

function failedProtocol(rule: DataplaneRule, packet: Packet): string | undefined {
  const actual = protocolText(packet.protocol);
  if (rule.protocol !== undefined && !isProtocol(rule.protocol, packet))
    return `the protocol is ${actual}, not ${nameOf(rule.protocol)}`;
  if (rule.not_protocol !== undefined && isProtocol(rule.not_protocol, packet))
    return `the protocol is ${actual}, which is excluded`;
  if (rule.protocol === undefined && !hasPorts(packet.protocol) && NUMERIC_PORTS.some((field) => isSet(rule[field])))
    return `the protocol is ${actual}, which has no ports`;
  if (rule.icmp !== undefined && !isIcmp(rule.icmp, packet)) return `the ICMP type is not ${icmpText(rule.icmp)}`;
  if (rule.not_icmp !== undefined && isIcmp(rule.not_icmp, packet))
    return `the ICMP type is ${icmpText(rule.not_icmp)}, which is excluded`;
  return undefined;
}

interface Side {
  readonly address: Address | undefined;
  readonly port: number | undefined;
  readonly nets: readonly string[] | undefined;
  readonly sets: readonly string[] | undefined;
  readonly ports: readonly PortRange[] | undefined;
  readonly namedPorts: readonly string[] | undefined;
  readonly notNets: readonly string[] | undefined;
  readonly notSets: readonly string[] | undefined;
  readonly notPorts: readonly PortRange[] | undefined;
  readonly notNamedPorts: readonly string[] | undefined;
}

function sourceOf(rule: DataplaneRule, packet: Packet): Side {
  return {
    address: packet.source,
    port: packet.sourcePort,
    nets: rule.src_net,
    sets: rule.src_ip_set_ids,
    ports: rule.src_ports,
    namedPorts: rule.src_named_port_ip_set_ids,
    notNets: rule.not_src_net,
    notSets: rule.not_src_ip_set_ids,
    notPorts: rule.not_src_ports,
    notNamedPorts: rule.not_src_named_port_ip_set_ids,
  };
}

function destinationOf(rule: DataplaneRule, packet: Packet): Side {
  return {
    address: packet.destination,
    port: packet.port,
    nets: rule.dst_net,
    sets: rule.dst_ip_set_ids,
    ports: rule.dst_ports,
    namedPorts: rule.dst_named_port_ip_set_ids,
    notNets: rule.not_dst_net,
    notSets: rule.not_dst_ip_set_ids,
    notPorts: rule.not_dst_ports,
    notNamedPorts: rule.not_dst_named_port_ip_set_ids,
  };
}

function failedSide(what: "source" | "destination", side: Side, context: MatchContext): string | undefined {
  const text = side.address === undefined ? `unknown ${what}` : formatAddress(side.address);
  const port = side.port === undefined ? "none" : String(side.port);
  if (isSet(side.nets) && !inNets(side.nets, side.address))
    return `${what} ${text} is in none of ${side.nets.join(", ")}`;
  for (const id of side.sets ?? [])
    if (!inSet(id, side.address, context))
      return `${what} ${text} is not in ${setText(id, context)}${memberText(id, side.address, context)}`;
  if (isSet(side.ports) || isSet(side.namedPorts)) {
    const numeric = inPorts(side.ports ?? [], side.port);
    const named = (side.namedPorts ?? []).some((id) => inPortSet(id, side.address, side.port, context));
    if (!numeric && !named) {
      const wanted = [
        ...(side.ports ?? []).map(rangeText),
        ...(side.namedPorts ?? []).map((id) => setText(id, context)),
      ];
      const whose = (side.namedPorts ?? []).map((id) => memberText(id, side.address, context)).join("");
      return `${what} port ${port} of ${text} is none of ${wanted.join(", ")}${whose}`;
    }
  }
  if (isSet(side.notNets) && inNets(side.notNets, side.address))
    return `${what} ${text} is in ${side.notNets.join(", ")}, which is excluded`;
  for (const id of side.notSets ?? [])
    if (inSet(id, side.address, context))
      return `${what} ${text} is in ${setText(id, context)}, which is excluded${memberText(id, side.address, context)}`;
  if (isSet(side.notPorts) && inPorts(side.notPorts, side.port))
    return `${what} port ${port} is in ${side.notPorts.map(rangeText).join(", ")}, which is excluded`;
  for (const id of side.notNamedPorts ?? [])
    if (inPortSet(id, side.address, side.port, context))
      return `${what} port ${port} of ${text} is in ${setText(id, context)}, which is excluded`;
  return undefined;
}

function failedServicePorts(rule: DataplaneRule, context: MatchContext): string | undefined {
  const { destination, port } = context.packet;
  for (const id of rule.dst_ip_port_set_ids ?? []) {
    if (inPortSet(id, destination, port, context)) continue;
    const text = destination === undefined ? "unknown" : formatAddress(destination);
    return `destination ${text} port ${port ?? "none"} is not in ${setText(id, context)}`;
  }
  return undefined;
}

function isSet<T>(list: readonly T[] | undefined): list is readonly T[] {
  return list !== undefined && list.length > 0;
}

function isProtocol(wanted: RuleProtocol, packet: Packet): boolean {
  return ("number" in wanted ? wanted.number : protocolNumber(wanted.name)) === packet.protocol;
}

function nameOf(protocol: RuleProtocol): string {
  return "number" in protocol ? protocolText(protocol.number) : protocol.name;
}

/** Only the ICMP of the packet's own IP version has types: protocol 58 inside IPv4 is not ICMPv6. */
function isIcmp(wanted: IcmpMatch, packet: Packet): boolean {
  if (packet.protocol !== ownIcmp(packet.ipVersion) || packet.icmp?.type !== wanted.type) return false;
  return wanted.code === undefined || wanted.code === (packet.icmp.code ?? 0);
}

function icmpText(icmp: IcmpMatch): string {
  return icmp.code === undefined ? `${icmp.type}` : `${icmp.type} code ${icmp.code}`;
}

function inNets(nets: readonly string[], address: Address | undefined): boolean {
  if (address === undefined) return false;
  return nets.some((net) => {
    const cidr = parseCidr(net);
    return cidr !== undefined && containsAddress(cidr, address);
  });
}

function inSet(id: string, address: Address | undefined, context: MatchContext): boolean {
  return address !== undefined && context.state.ipSets.get(id)?.findAddress(address) !== undefined;
}

function inPortSet(id: string, address: Address | undefined, port: number | undefined, context: MatchContext): boolean {
  if (address === undefined || port === undefined) return false;
  const protocol = protocolText(context.packet.protocol);
  return context.state.ipSets.get(id)?.findPort(address, protocol, port) !== undefined;
}

function inPorts(ranges: readonly PortRange[], port: number | undefined): boolean {
  return port !== undefined && ranges.some((range) => range.first <= port && port <= range.last);
}

function rangeText(range: PortRange): string {
  return range.first === range.last ? `${range.first}` : `${range.first}-${range.last}`;
}

/** " (...)", or "". */
function memberText(id: string, address: Address | undefined, context: MatchContext): string {
  const description = context.describeIpSet?.(id);
  if (description === undefined || address === undefined) return "";
  const text = context.describeMember?.(description, address) ?? "";
  return text === "" ? "" : ` (${text})`;
}

function setText(id: string, context: MatchContext): string {
  const description = context.describeIpSet?.(id);
  switch (description?.kind) {
    case undefined:
      return `IP set ${id}`;
    case "selector":
      return `the set of ${description.selector}`;
    case "named-port":
      return `the ${description.protocol === "any" ? "" : `${description.protocol} `}ports named "${description.port}" of ${description.selector}`;
    case "service":
      return `the ${description.withPorts ? "addresses and ports" : "addresses"} of service ${description.service}`;
  }
}
