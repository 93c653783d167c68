import { type Address, cidrOf, containsAddress, formatAddress, formatCidr } from "@bulrush/ip";
import { PROTOCOL_NUMBERS, type Protocol, type Rule } from "@bulrush/model";
import type { PortRange } from "@bulrush/proto";
import type { Contents } from "./contents.ts";
import { mustCidr } from "./items.ts";
import { ipVersionOf, sideOf } from "./rules.ts";
import { netsOf, portMembers, serviceNets, servicePorts, type SetSpec } from "./sets.ts";

/** The first packet of a flow. */
export interface Packet {
  readonly ipVersion: 4 | 6;
  /** A number. */
  readonly protocol: number;
  readonly src: { readonly address: Address; readonly port: number | undefined };
  readonly dst: { readonly address: Address; readonly port: number | undefined };
  readonly icmp: { readonly type: number; readonly code: number } | undefined;
}

/** Why a rule does not hold for a packet: out of its family, or the first condition that fails. */
export type RuleMiss = { readonly outcome: "omitted" | "not-matched"; readonly why: string };

/** Undefined when the rule matches the packet, by the rule's own words and all that the datastore holds. */
export function missOf(contents: Contents, rule: Rule, packet: Packet): RuleMiss | undefined {
  const omitted = omission(rule, packet.ipVersion);
  if (omitted !== undefined) return { outcome: "omitted", why: omitted };
  const failed = failedCondition(contents, rule, packet);
  return failed === undefined ? undefined : { outcome: "not-matched", why: failed };
}

/** A rule is left out for a family that it cannot be for. */
function omission(rule: Rule, family: 4 | 6): string | undefined {
  const version = ipVersionOf(rule);
  if (version !== "ANY" && version !== family) return "omitted ip_version";
  for (const end of ["src", "dst"] as const) {
    const { nets, notNets } = sideOf(rule, end);
    const has = (list: readonly string[]): boolean => list.some((net) => mustCidr(net).family === family);
    if (nets.length > 0 && !has(nets)) return `omitted ${end}_nets`;
    if (notNets.length > 0 && !has(notNets)) return `omitted !${end}_nets`;
    if (notNets.some((net) => mustCidr(net).family === family && mustCidr(net).prefixLength === 0))
      return `omitted !${end}_nets of all`;
  }
  return undefined;
}

function failedCondition(contents: Contents, rule: Rule, packet: Packet): string | undefined {
  if (rule.protocol !== undefined && numberOf(rule.protocol) !== packet.protocol) return "protocol";
  const negated = rule["!protocol"];
  if (negated !== undefined && numberOf(negated) === packet.protocol) return "!protocol";
  if (rule.icmp_type !== undefined && !isIcmp(packet, rule.icmp_type, rule.icmp_code)) return "icmp_type";
  const notType = rule["!icmp_type"];
  if (notType !== undefined && isIcmp(packet, notType, rule["!icmp_code"])) return "!icmp_type";
  for (const end of ["src", "dst"] as const) {
    const side = sideOf(rule, end);
    const { address, port } = packet[end];
    const inNet = (net: string): boolean => containsAddress(mustCidr(net), address);
    const inRange = (range: PortRange): boolean => port !== undefined && port >= range.first && port <= range.last;
    const inSet = (spec: SetSpec): boolean => isMember(contents, spec, packet.protocol, address, port);
    if (side.nets.length > 0 && !side.nets.some(inNet)) return `${end}_nets`;
    if (side.notNets.some(inNet)) return `!${end}_nets`;
    if (!side.sets.every(inSet)) return `${end}_selector`;
    if (side.notSets.some(inSet)) return `!${end}_selector`;
    if (!side.services.every(inSet)) return `${end}_service`;
    const asksPorts = side.ports.length + side.namedPorts.length > 0;
    if (asksPorts && !side.ports.some(inRange) && !side.namedPorts.some(inSet))
      return side.namedPorts.length > 0 ? `${end}_ports, named` : `${end}_ports`;
    if (side.notPorts.some(inRange)) return `!${end}_ports`;
    if (side.notNamedPorts.some(inSet)) return `!${end}_ports, named`;
  }
  return undefined;
}

function numberOf(protocol: Protocol): number | undefined {
  return typeof protocol === "number" ? protocol : PROTOCOL_NUMBERS.get(protocol);
}

function isIcmp({ icmp }: Packet, type: number, code: number | undefined): boolean {
  return icmp !== undefined && icmp.type === type && (code === undefined || icmp.code === code);
}

function isMember(
  contents: Contents,
  spec: SetSpec,
  protocol: number,
  address: Address,
  port: number | undefined,
): boolean {
  const name = [...PROTOCOL_NUMBERS].find(([, number]) => number === protocol)?.[0] ?? String(protocol);
  const endpoint = `${formatAddress(address)},${name}:${port}`;
  switch (spec.kind) {
    case "selector":
      return netsOf(contents, spec.selector).some((net) => containsAddress(net, address));
    case "named-port":
      return portMembers(contents, spec).includes(endpoint);
    case "service":
      return spec.withPorts
        ? servicePorts(contents, spec.service).includes(endpoint)
        : serviceNets(contents, spec.service).includes(formatCidr(cidrOf(address)));
    case "ambient":
      return false;
  }
}
