import type { Port, Protocol, Rule } from "@bulrush/model";
import type { DataplaneRule, IcmpMatch, IPVersion, PortRange, RuleProtocol } from "@bulrush/proto";
import { ALL_SELECTOR, type IpSetSpec, type NamedPortProtocol } from "../sets/ip-set-spec.ts";
import type { SpecCache } from "./spec-cache.ts";

/** The rule as the dataplane gets it, while it is being made. */
type Draft = { -readonly [K in keyof Omit<DataplaneRule, "rule_id">]: DataplaneRule[K] };

export interface ScannedRule {
  readonly rule: Omit<DataplaneRule, "rule_id">;
  /** The IP sets that it names. */
  readonly sets: readonly IpSetSpec[];
}

/**
 * Turns a rule of the datastore into one for the dataplane: selectors, named ports and services become IP sets.
 *
 * Of one side, a selector and its negation make one set; a negation alone makes a set that must not hold. A positive
 * named port stands for (address, port) pairs of the endpoints that the side's selector picks, so that the selector's
 * own set can be left out unless there are numeric ports too.
 */
export function scanRule(rule: Rule, cache: SpecCache): ScannedRule {
  const sets: IpSetSpec[] = [];
  const draft: Draft = { action: actionOf(rule), ip_version: ipVersionOf(rule) };
  if (rule.protocol !== undefined) draft.protocol = ruleProtocol(rule.protocol);
  const icmp = icmpMatch(rule.icmp_type, rule.icmp_code);
  if (icmp !== undefined) draft.icmp = icmp;
  if (rule["!protocol"] !== undefined) draft.not_protocol = ruleProtocol(rule["!protocol"]);
  const notIcmp = icmpMatch(rule["!icmp_type"], rule["!icmp_code"]);
  if (notIcmp !== undefined) draft.not_icmp = notIcmp;

  const protocol = namedPortProtocol(rule.protocol);
  const source = scanSide(cache, sets, protocol, {
    nets: withSingle(rule.src_nets, rule.src_net),
    selector: rule.src_selector,
    ports: rule.src_ports,
    notNets: withSingle(rule["!src_nets"], rule["!src_net"]),
    notSelector: rule["!src_selector"],
    notPorts: rule["!src_ports"],
  });
  if (rule.src_service) {
    const spec = cache.serviceSet(`${rule.src_service_ns ?? ""}/${rule.src_service}`, false);
    sets.push(spec);
    source.setIds = [...(source.setIds ?? []), spec.id];
    draft.original_src_service = rule.src_service;
    if (rule.src_service_ns) draft.original_src_service_namespace = rule.src_service_ns;
  }
  if (source.nets) draft.src_net = source.nets;
  if (source.ranges) draft.src_ports = source.ranges;
  if (source.setIds) draft.src_ip_set_ids = source.setIds;
  if (source.namedIds) draft.src_named_port_ip_set_ids = source.namedIds;
  if (source.notNets) draft.not_src_net = source.notNets;
  if (source.notRanges) draft.not_src_ports = source.notRanges;
  if (source.notSetIds) draft.not_src_ip_set_ids = source.notSetIds;
  if (source.notNamedIds) draft.not_src_named_port_ip_set_ids = source.notNamedIds;

  const destination = scanSide(cache, sets, protocol, {
    nets: withSingle(rule.dst_nets, rule.dst_net),
    selector: rule.dst_selector,
    ports: rule.dst_ports,
    notNets: withSingle(rule["!dst_nets"], rule["!dst_net"]),
    notSelector: rule["!dst_selector"],
    notPorts: rule["!dst_ports"],
  });
  if (rule.dst_service) {
    const spec = cache.serviceSet(`${rule.dst_service_ns ?? ""}/${rule.dst_service}`, true);
    sets.push(spec);
    draft.dst_ip_port_set_ids = [spec.id];
    draft.original_dst_service = rule.dst_service;
    if (rule.dst_service_ns) draft.original_dst_service_namespace = rule.dst_service_ns;
  }
  if (destination.nets) draft.dst_net = destination.nets;
  if (destination.ranges) draft.dst_ports = destination.ranges;
  if (destination.setIds) draft.dst_ip_set_ids = destination.setIds;
  if (destination.namedIds) draft.dst_named_port_ip_set_ids = destination.namedIds;
  if (destination.notNets) draft.not_dst_net = destination.notNets;
  if (destination.notRanges) draft.not_dst_ports = destination.notRanges;
  if (destination.notSetIds) draft.not_dst_ip_set_ids = destination.notSetIds;
  if (destination.notNamedIds) draft.not_dst_named_port_ip_set_ids = destination.notNamedIds;
  addOriginals(draft, rule);
  return { rule: draft, sets };
}

interface Side {
  readonly nets: readonly string[] | undefined;
  readonly selector: string | undefined;
  readonly ports: readonly Port[] | undefined;
  readonly notNets: readonly string[] | undefined;
  readonly notSelector: string | undefined;
  readonly notPorts: readonly Port[] | undefined;
}

interface ScannedSide {
  nets: readonly string[] | undefined;
  ranges: readonly PortRange[] | undefined;
  setIds: readonly string[] | undefined;
  namedIds: readonly string[] | undefined;
  notNets: readonly string[] | undefined;
  notRanges: readonly PortRange[] | undefined;
  notSetIds: readonly string[] | undefined;
  notNamedIds: readonly string[] | undefined;
}

function scanSide(cache: SpecCache, sets: IpSetSpec[], protocol: NamedPortProtocol, side: Side): ScannedSide {
  const { selector: positive, notSelector: negative } = side;
  const ports = splitPorts(side.ports);
  const notPorts = splitPorts(side.notPorts);
  let wanted: string | undefined;
  if (positive) wanted = negative ? `(${positive}) && (!(${negative}))` : positive;
  const picked = wanted === undefined ? ALL_SELECTOR : cache.selector(wanted);
  const use = (spec: IpSetSpec): string => {
    sets.push(spec);
    return spec.id;
  };
  const named = ports?.names.map((name) => use(cache.namedPortSet(picked, protocol, name)));
  const notNamed = notPorts?.names.map((name) => use(cache.namedPortSet(picked, protocol, name)));
  // Positive named ports alone already say whose ports: the selector's set would add nothing.
  const impliedByPorts = ports !== undefined && ports.names.length > 0 && ports.ranges.length === 0;
  return {
    nets: nonEmpty(side.nets),
    ranges: nonEmpty(ports?.ranges),
    setIds: wanted === undefined || impliedByPorts ? undefined : [use(cache.selectorSet(wanted))],
    namedIds: nonEmpty(named),
    notNets: nonEmpty(side.notNets),
    notRanges: nonEmpty(notPorts?.ranges),
    notSetIds: negative && wanted === undefined ? [use(cache.selectorSet(negative))] : undefined,
    notNamedIds: nonEmpty(notNamed),
  };
}

function addOriginals(draft: Draft, rule: Rule): void {
  if (rule.orig_src_selector) draft.original_src_selector = rule.orig_src_selector;
  if (rule.orig_dst_selector) draft.original_dst_selector = rule.orig_dst_selector;
  if (rule.orig_src_namespace_selector) draft.original_src_namespace_selector = rule.orig_src_namespace_selector;
  if (rule.orig_dst_namespace_selector) draft.original_dst_namespace_selector = rule.orig_dst_namespace_selector;
  if (rule.orig_not_src_selector) draft.original_not_src_selector = rule.orig_not_src_selector;
  if (rule.orig_not_dst_selector) draft.original_not_dst_selector = rule.orig_not_dst_selector;
  const srcNames = rule.orig_src_service_acct_names ?? [];
  const srcSelector = rule.orig_src_service_acct_selector ?? "";
  if (srcNames.length > 0 || srcSelector !== "")
    draft.src_service_account_match = { selector: srcSelector, names: srcNames };
  const dstNames = rule.orig_dst_service_acct_names ?? [];
  const dstSelector = rule.orig_dst_service_acct_selector ?? "";
  if (dstNames.length > 0 || dstSelector !== "")
    draft.dst_service_account_match = { selector: dstSelector, names: dstNames };
  if (rule.http !== undefined) draft.http_match = { methods: rule.http.methods ?? [], paths: rule.http.paths ?? [] };
  const annotations = rule.metadata?.annotations;
  if (annotations !== undefined) draft.metadata = { annotations };
}

function actionOf(rule: Rule): DataplaneRule["action"] {
  switch (rule.action) {
    case undefined:
    case "":
    case "allow":
      return "allow";
    case "next-tier":
    case "pass":
      return "pass";
    case "deny":
    case "log":
      return rule.action;
    default:
      // Validation keeps other words out; one that came through must not open anything.
      return "deny";
  }
}

function ipVersionOf(rule: Rule): IPVersion {
  if (rule.ip_version === 4 || rule.ip_version === 6) return rule.ip_version;
  if (rule.protocol === "icmp") return 4;
  return rule.protocol === "icmpv6" ? 6 : "ANY";
}

function ruleProtocol(protocol: Protocol): RuleProtocol {
  return typeof protocol === "number" ? { number: protocol } : { name: protocol.toLowerCase() };
}

function icmpMatch(type: number | undefined, code: number | undefined): IcmpMatch | undefined {
  if (type === undefined) return undefined;
  return code === undefined ? { type } : { type, code };
}

/** Without a protocol, a name stands for the ports of all protocols; ports of other protocols have no names. */
function namedPortProtocol(protocol: Protocol | undefined): NamedPortProtocol {
  switch (typeof protocol === "string" ? protocol.toLowerCase() : protocol) {
    case undefined:
      return "any";
    case "udp":
    case 17:
      return "udp";
    case "sctp":
    case 132:
      return "sctp";
    default:
      return "tcp";
  }
}

interface SplitPorts {
  readonly ranges: readonly PortRange[];
  readonly names: readonly string[];
}

function splitPorts(ports: readonly Port[] | undefined): SplitPorts | undefined {
  if (ports === undefined || ports.length === 0) return undefined;
  const ranges: PortRange[] = [];
  const names: string[] = [];
  for (const port of ports) {
    if (typeof port === "number") {
      ranges.push({ first: port, last: port });
      continue;
    }
    const range = /^(\d+)(?::(\d+))?$/.exec(port);
    if (range === null) names.push(port);
    else {
      const first = Number(range[1]);
      ranges.push({ first, last: range[2] === undefined ? first : Number(range[2]) });
    }
  }
  return { ranges, names };
}

function withSingle(nets: readonly string[] | undefined, single: string | undefined): readonly string[] | undefined {
  if (!single) return nets;
  return nets === undefined ? [single] : [...nets, single];
}

function nonEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}
