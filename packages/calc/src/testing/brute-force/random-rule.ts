import type { Port, Rule } from "@bulrush/model";
import type { Dice } from "./dice.ts";
import { randomSelector } from "./random-selector.ts";

export const NETS = [
  "10.0.0.0/8",
  "10.0.0.0/24",
  "10.0.0.0/30",
  "10.0.0.1/32",
  "10.0.1.0/24",
  "fd00::/64",
  "fd00::1/128",
  "0.0.0.0/0",
  "::/0",
] as const;
export const PORT_NAMES = ["web", "dns"] as const;
export const PORT_NUMBERS = [53, 80, 443, 1500] as const;
const PORTS: readonly Port[] = [53, 80, "443", "1000:2000", "web", "dns"];
const NAMED: readonly Port[] = PORT_NAMES;
const WITH_PORTS = ["tcp", "udp", "sctp", 6, 17, 132] as const;
export const SERVICES = ["svc-1", "svc-2"] as const;
export const NAMESPACES = ["ns1", "ns2"] as const;

type Draft = { -readonly [F in keyof Rule]: Rule[F] };

/** A rule with any of the conditions that there are, more of them as `p` grows. */
export function randomRule(d: Dice, p = 0.15): Rule {
  const rule: Draft = { action: d.pick(["allow", "deny", "pass", "next-tier", "log", ""]) };
  if (d.chance(0.05)) delete rule.action;
  if (d.chance(p)) rule.ip_version = d.pick([4, 6]);
  randomProtocol(d, p, rule);
  for (const side of ["src", "dst"] as const) {
    if (d.chance(2 * p)) rule[`${side}_selector`] = randomSelector(d);
    if (d.chance(p)) rule[`!${side}_selector`] = randomSelector(d);
    if (d.chance(p)) rule[`${side}_nets`] = d.some(NETS, 3);
    if (d.chance(p / 3)) rule[`${side}_net`] = d.pick([...NETS, ""]);
    if (d.chance(p)) rule[`!${side}_nets`] = d.some(NETS, 2);
    if (d.chance(p / 3)) rule[`!${side}_net`] = d.pick(NETS);
    if (d.chance(p)) {
      rule[`${side}_service`] = d.pick(SERVICES);
      rule[`${side}_service_ns`] = d.pick(NAMESPACES);
    }
    randomOrigin(d, p / 4, rule, side);
  }
  if (d.chance(p / 3))
    rule.http = {
      ...(d.chance(0.7) && { methods: d.some(["GET", "PUT"]) }),
      ...(d.chance(0.7) && { paths: d.some([{ exact: "/a" }, { prefix: "/b" }]) }),
    };
  if (d.chance(p / 3)) rule.metadata = { annotations: new Map(d.some([["why", "because"] as const])) };
  return rule;
}

/** A rule with one or two conditions, so that each of them often decides. */
export function focusedRule(d: Dice): Rule {
  const action = d.pick(["allow", "allow", "deny", "pass", "log"] as const);
  if (d.chance(0.3)) return { action, ...portRule(d) };
  const full = randomRule(d, 0.4);
  const fields = Object.keys(full).filter((field) => field !== "action" && field !== "protocol");
  const kept = new Set(["action", ...d.some(fields, 2), ...(d.chance(0.3) ? ["protocol"] : [])]);
  // One is nothing without the other.
  for (const [field, other] of PAIRS) if (kept.has(field)) kept.add(other);
  if ([...kept].some((field) => /port|icmp/.test(field))) kept.add("protocol");
  return Object.fromEntries(Object.entries(full).filter(([field]) => kept.has(field)));
}

/** Conditions that seldom decide beside others, and so are alone. */
function portRule(d: Dice): Rule {
  const field = d.pick(PORT_FIELDS);
  switch (d.below(5)) {
    case 0:
      return { [field]: NAMED };
    case 1:
    case 2:
    case 3:
      return { protocol: "tcp", [field]: d.chance(0.7) ? [d.pick(PORTS)] : d.some(PORTS, 3) };
    default:
      return { protocol: "icmp", "!icmp_type": d.pick([0, 8]), ...(d.chance(0.5) && { "!icmp_code": d.pick([0, 3]) }) };
  }
}

const PAIRS = [
  ["icmp_code", "icmp_type"],
  ["!icmp_code", "!icmp_type"],
  ["src_service", "src_service_ns"],
  ["dst_service", "dst_service_ns"],
] as const;

/** A protocol with what depends on it: ports, or an ICMP type. */
function randomProtocol(d: Dice, p: number, rule: Draft): void {
  if (d.chance(p)) rule["!protocol"] = d.pick(["tcp", "udp", "icmp", "udplite", 6, 47]);
  switch (d.below(5)) {
    case 0:
      // Named ports bring a protocol of their own.
      for (const field of PORT_FIELDS) if (d.chance(p)) rule[field] = d.some(NAMED);
      return;
    case 1:
    case 2:
      rule.protocol = d.pick(WITH_PORTS);
      for (const field of PORT_FIELDS) if (d.chance(2 * p)) rule[field] = d.some(PORTS, 3);
      return;
    case 3:
      rule.protocol = d.pick(["icmp", "icmpv6", "udplite", 47]);
      if (rule.protocol !== "icmp" && rule.protocol !== "icmpv6") return;
      rule.ip_version = rule.protocol === "icmp" ? 4 : 6;
      if (d.chance(0.5)) delete rule.ip_version;
      if (d.chance(0.5)) rule.icmp_type = d.pick([0, 8]);
      if (rule.icmp_type !== undefined && d.chance(0.5)) rule.icmp_code = d.pick([0, 3]);
      if (d.chance(0.3)) rule["!icmp_type"] = d.pick([0, 8]);
      if (rule["!icmp_type"] !== undefined && d.chance(0.5)) rule["!icmp_code"] = d.pick([0, 3]);
      return;
    default:
  }
}

const PORT_FIELDS = ["src_ports", "dst_ports", "!src_ports", "!dst_ports"] as const;

/** What a rule says of its origin: of no effect on what it matches. */
function randomOrigin(d: Dice, p: number, rule: Draft, side: "src" | "dst"): void {
  if (d.chance(p)) rule[`orig_${side}_selector`] = randomSelector(d);
  if (d.chance(p)) rule[`orig_${side}_namespace_selector`] = randomSelector(d);
  if (d.chance(p)) rule[`orig_not_${side}_selector`] = randomSelector(d);
  if (d.chance(p)) rule[`orig_${side}_service_acct_selector`] = randomSelector(d);
  if (d.chance(p)) rule[`orig_${side}_service_acct_names`] = d.some(["sa1", "sa2"]);
}
