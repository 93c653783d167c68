import { parseCidr } from "@bulrush/ip";
import { protocolNumber } from "@bulrush/nftables";
import type { DataplaneRule, IcmpMatch, PortRange, RuleProtocol } from "@bulrush/proto";

/** Takes what is said of a value that cannot be read, in words. */
export type OnUnreadable = (what: string) => void;

const ACTIONS: ReadonlySet<string> = new Set<DataplaneRule["action"]>(["allow", "deny", "log", "pass"]);
const VERSIONS: ReadonlySet<unknown> = new Set<DataplaneRule["ip_version"]>(["ANY", 4, 6]);

const NETS = ["src_net", "dst_net", "not_src_net", "not_dst_net"] as const;
const PORTS = ["src_ports", "dst_ports", "not_src_ports", "not_dst_ports"] as const;
const PROTOCOLS = ["protocol", "not_protocol"] as const;
const ICMP = ["icmp", "not_icmp"] as const;

/** Fields of a rule that matches nothing: no IPv4 packet comes from an IPv6 network. */
export const NO_PACKET: Pick<DataplaneRule, "ip_version" | "src_net"> = { ip_version: 4, src_net: ["::/128"] };

/**
 * The rules, each with what cannot be read of it closed, at its place: the place names its counter. One that only lets
 * through or logs matches nothing then; one that denies, passes on or does what nobody knows denies all that its readable
 * fields allow. The same list, where there is nothing of the kind.
 */
export function readableRules(rules: readonly DataplaneRule[], onUnreadable: OnUnreadable): readonly DataplaneRule[] {
  let closed: DataplaneRule[] | undefined;
  for (const [index, rule] of rules.entries()) {
    const unreadable = unreadableFields(rule);
    if (unreadable.length === 0) continue;
    for (const field of unreadable) onUnreadable(`${field} of rule ${index}`);
    closed ??= [...rules];
    closed[index] = closedRule(rule, new Set(unreadable));
  }
  return closed ?? rules;
}

function closedRule(rule: DataplaneRule, unreadable: ReadonlySet<string>): DataplaneRule {
  const { action, rule_id } = rule;
  if (action === "allow" || action === "log") return { action, ...NO_PACKET, rule_id };
  const readable = Object.entries(rule).filter(([field]) => !unreadable.has(field));
  return { ip_version: "ANY", rule_id, ...Object.fromEntries(readable), action: "deny" };
}

function unreadableFields(rule: DataplaneRule): readonly (keyof DataplaneRule)[] {
  const fields: (keyof DataplaneRule)[] = [];
  if (!ACTIONS.has(rule.action)) fields.push("action");
  if (!VERSIONS.has(rule.ip_version)) fields.push("ip_version");
  for (const field of NETS) if (rule[field]?.some((net) => parseCidr(net) === undefined) === true) fields.push(field);
  for (const field of PORTS) if (rule[field]?.some((range) => !isPortRange(range)) === true) fields.push(field);
  for (const field of PROTOCOLS) if (!isProtocol(rule[field])) fields.push(field);
  for (const field of ICMP) if (!isIcmp(rule[field])) fields.push(field);
  return fields;
}

function isPortRange({ first, last }: PortRange): boolean {
  return isUpTo(first, 0xffff) && isUpTo(last, 0xffff) && first <= last;
}

function isProtocol(protocol: RuleProtocol | undefined): boolean {
  if (protocol === undefined) return true;
  return "number" in protocol
    ? isUpTo(protocol.number, 0xff)
    : protocolNumber(protocol.name.toLowerCase()) !== undefined;
}

function isIcmp(icmp: IcmpMatch | undefined): boolean {
  return icmp === undefined || (isUpTo(icmp.type, 0xff) && (icmp.code === undefined || isUpTo(icmp.code, 0xff)));
}

function isUpTo(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}
