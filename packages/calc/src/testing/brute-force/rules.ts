import type { Port, Protocol, Rule } from "@bulrush/model";
import type { DataplaneRule, PortRange, RuleProtocol } from "@bulrush/proto";
import { type SetSpec, setId } from "./sets.ts";

/** The conditions of one end of a rule, with what its selectors and named ports mean. */
interface Side {
  readonly nets: readonly string[];
  readonly notNets: readonly string[];
  readonly ports: readonly PortRange[];
  readonly notPorts: readonly PortRange[];
  /** All must hold. */
  readonly sets: readonly SetSpec[];
  /** None may hold. */
  readonly notSets: readonly SetSpec[];
  /** One of these, or of `ports`. */
  readonly namedPorts: readonly SetSpec[];
  readonly notNamedPorts: readonly SetSpec[];
  /** All must hold. */
  readonly services: readonly SetSpec[];
}

export function sideOf(rule: Rule, side: "src" | "dst"): Side {
  const positive = rule[`${side}_selector`] ?? "";
  const negative = rule[`!${side}_selector`] ?? "";
  let selector = positive;
  // Both of one side form one set.
  if (positive !== "" && negative !== "") selector = `(${positive}) && (!(${negative}))`;
  const named = (ports: readonly Port[] | undefined): SetSpec[] =>
    (ports ?? []).filter(isNamed).map((port) => ({
      kind: "named-port",
      selector: selector === "" ? "all()" : selector,
      protocol: namedPortProtocol(rule.protocol),
      port,
    }));
  const ports = numeric(rule[`${side}_ports`]);
  const namedPorts = named(rule[`${side}_ports`]);
  // Members of the named ports are picked by the selector already.
  const hasSet = selector !== "" && (namedPorts.length === 0 || ports.length > 0);
  const service = rule[`${side}_service`] ?? "";
  const serviceSpec: SetSpec = {
    kind: "service",
    service: `${rule[`${side}_service_ns`] ?? ""}/${service}`,
    withPorts: side === "dst",
  };
  return {
    nets: listed(rule[`${side}_nets`], rule[`${side}_net`]),
    notNets: listed(rule[`!${side}_nets`], rule[`!${side}_net`]),
    ports,
    notPorts: numeric(rule[`!${side}_ports`]),
    sets: hasSet ? [{ kind: "selector", selector }] : [],
    notSets: positive === "" && negative !== "" ? [{ kind: "selector", selector: negative }] : [],
    namedPorts,
    notNamedPorts: named(rule[`!${side}_ports`]),
    services: service === "" ? [] : [serviceSpec],
  };
}

/** The sets that a rule needs. */
export function setsOf(rule: Rule): SetSpec[] {
  return [sideOf(rule, "src"), sideOf(rule, "dst")].flatMap((side) => [
    ...side.sets,
    ...side.notSets,
    ...side.namedPorts,
    ...side.notNamedPorts,
    ...side.services,
  ]);
}

/** A rule as the dataplane must get it, but for its id; empty fields are left out. */
export function expectedRule(rule: Rule): object {
  const src = sideOf(rule, "src");
  const dst = sideOf(rule, "dst");
  const out: Omit<DataplaneRule, "rule_id"> = {
    action: actionOf(rule),
    ip_version: ipVersionOf(rule),
    ...protocolField("protocol", rule.protocol),
    ...protocolField("not_protocol", rule["!protocol"]),
    src_net: src.nets,
    src_ports: src.ports,
    dst_net: dst.nets,
    dst_ports: dst.ports,
    ...icmpField("icmp", rule.icmp_type, rule.icmp_code),
    ...icmpField("not_icmp", rule["!icmp_type"], rule["!icmp_code"]),
    src_ip_set_ids: ids([...src.sets, ...src.services]),
    dst_ip_set_ids: ids(dst.sets),
    src_named_port_ip_set_ids: ids(src.namedPorts),
    dst_named_port_ip_set_ids: ids(dst.namedPorts),
    dst_ip_port_set_ids: ids(dst.services),
    not_src_net: src.notNets,
    not_src_ports: src.notPorts,
    not_dst_net: dst.notNets,
    not_dst_ports: dst.notPorts,
    not_src_ip_set_ids: ids(src.notSets),
    not_dst_ip_set_ids: ids(dst.notSets),
    not_src_named_port_ip_set_ids: ids(src.notNamedPorts),
    not_dst_named_port_ip_set_ids: ids(dst.notNamedPorts),
    original_src_selector: rule.orig_src_selector ?? "",
    original_dst_selector: rule.orig_dst_selector ?? "",
    original_src_namespace_selector: rule.orig_src_namespace_selector ?? "",
    original_dst_namespace_selector: rule.orig_dst_namespace_selector ?? "",
    original_not_src_selector: rule.orig_not_src_selector ?? "",
    original_not_dst_selector: rule.orig_not_dst_selector ?? "",
    ...accounts("src", rule.orig_src_service_acct_selector, rule.orig_src_service_acct_names),
    ...accounts("dst", rule.orig_dst_service_acct_selector, rule.orig_dst_service_acct_names),
    original_src_service: rule.src_service ?? "",
    original_src_service_namespace: src.services.length === 0 ? "" : (rule.src_service_ns ?? ""),
    original_dst_service: rule.dst_service ?? "",
    original_dst_service_namespace: dst.services.length === 0 ? "" : (rule.dst_service_ns ?? ""),
    ...(rule.http && { http_match: { methods: rule.http.methods ?? [], paths: rule.http.paths ?? [] } }),
    ...(rule.metadata && { metadata: { annotations: rule.metadata.annotations ?? new Map() } }),
  };
  return out;
}

export function actionOf({ action = "" }: Rule): DataplaneRule["action"] {
  if (action === "") return "allow";
  return action === "next-tier" ? "pass" : action;
}

/** The family that a rule says, or that its protocol implies. */
export function ipVersionOf(rule: Rule): DataplaneRule["ip_version"] {
  if (rule.ip_version !== undefined) return rule.ip_version;
  if (rule.protocol === "icmp") return 4;
  return rule.protocol === "icmpv6" ? 6 : "ANY";
}

function isNamed(port: Port): port is string {
  return typeof port === "string" && !/^[0-9]+(?::[0-9]+)?$/.test(port);
}

function numeric(ports: readonly Port[] | undefined): PortRange[] {
  return (ports ?? [])
    .filter((port) => !isNamed(port))
    .map((port) => {
      const [first = "", last = first] = String(port).split(":");
      return { first: Number(first), last: Number(last) };
    });
}

/** Members of a named port count with this protocol only. */
function namedPortProtocol(protocol: Protocol | undefined): string {
  if (protocol === undefined) return "any";
  if (protocol === "udp" || protocol === 17) return "udp";
  return protocol === "sctp" || protocol === 132 ? "sctp" : "tcp";
}

function listed(nets: readonly string[] | undefined, net: string | undefined): string[] {
  return [...(nets ?? []), ...(net === undefined || net === "" ? [] : [net])];
}

function ids(specs: readonly SetSpec[]): string[] {
  return [...new Set(specs.map(setId))].sort();
}

function protocolField<N extends string>(name: N, protocol: Protocol | undefined): Partial<Record<N, RuleProtocol>> {
  if (protocol === undefined) return {};
  return { [name]: typeof protocol === "number" ? { number: protocol } : { name: protocol } } as Record<
    N,
    RuleProtocol
  >;
}

function icmpField<N extends string>(
  name: N,
  type: number | undefined,
  code: number | undefined,
): Partial<Record<N, { type: number; code?: number }>> {
  if (type === undefined) return {};
  return { [name]: { type, ...(code !== undefined && { code }) } } as Record<N, { type: number; code?: number }>;
}

function accounts<S extends "src" | "dst">(
  side: S,
  selector: string | undefined,
  names: readonly string[] | undefined,
): object {
  if ((selector ?? "") === "" && (names ?? []).length === 0) return {};
  return { [`${side}_service_account_match`]: { selector: selector ?? "", names: names ?? [] } };
}
