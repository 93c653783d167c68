import type {
  Block,
  HostEndpoint,
  IPPool,
  KeyType,
  NetworkSet,
  Policy,
  PolicyKind,
  ProfileRules,
  Resource,
  ResourceKind,
  Rule,
  Tier,
  Wireguard,
  WorkloadEndpoint,
} from "@bulrush/model";
import { Op } from "@bulrush/selector";
import { type Contents, entriesOf } from "./contents.ts";
import { operatorsOf } from "./naive-selector.ts";

/** How often each thing was there when the graph and the model were compared. */
export class Coverage {
  readonly counts: Map<string, number> = new Map();

  add(name: string, times = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + times);
  }

  /** Counts the kinds, fields, rules' fields and selectors' operators of the contents. */
  addContents(contents: Contents): void {
    for (const { key, value } of contents.values()) {
      const kind = key.type === "Resource" ? key.kind : key.type;
      this.add(kind);
      if (key.type === "Policy") this.add(key.kind);
      if (key.type === "HostConfig") this.add(`HostConfig.${key.name}`);
      if (key.type === "Resource") this.#addResource(key.kind, value as Resource);
      if (key.type === "Resource" || key.type === "ProfileLabels" || typeof value !== "object") continue;
      for (const [field, one] of Object.entries(value)) if (one !== undefined) this.add(`${kind}.${field}`);
    }
    for (const [, policy] of entriesOf(contents, "Policy")) this.#addSelector(policy.selector);
    for (const [, { inbound_rules, outbound_rules }] of [
      ...entriesOf(contents, "Policy"),
      ...entriesOf(contents, "ProfileRules"),
    ])
      for (const rule of [...inbound_rules, ...outbound_rules]) this.#addRule(rule);
  }

  #addResource(kind: ResourceKind, { metadata, spec, ...others }: Resource): void {
    for (const [field, value] of Object.entries({ ...(spec as object), ...others, labels: metadata.labels })) {
      if (value === undefined) continue;
      this.add(`${kind}.${field}`);
      if (typeof value !== "object" || Array.isArray(value)) continue;
      for (const inner of Object.keys(value as object)) this.add(`${kind}.${field}.${inner}`);
    }
  }

  #addRule(rule: Rule): void {
    for (const [field, value] of Object.entries(rule)) {
      this.add(`Rule.${field}`);
      if (/^!?(?:src|dst)_selector$/.test(field)) this.#addSelector(value as string);
    }
    this.add(`action ${rule.action || "none"}`);
  }

  #addSelector(text: string): void {
    for (const operator of operatorsOf(text)) this.add(`operator ${operator}`);
  }

  /** What of `names` was there less than `least` times. */
  missing(names: readonly string[], least: number): string[] {
    return names.filter((name) => (this.counts.get(name) ?? 0) < least);
  }

  /** All counts, by name, a line for each first word of the names. */
  report(): string[] {
    const lines = new Map<string, string[]>();
    for (const [name, count] of [...this.counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const [, first = name, rest = ""] = /^([^. ]+)[. ](.*)$/.exec(name) ?? [];
      const line = lines.get(first) ?? [];
      line.push(rest === "" ? String(count) : `${rest} ${count}`);
      lines.set(first, line);
    }
    return [...lines].map(([first, counts]) => `${first}: ${counts.join(", ")}`);
  }
}

/** Every name is one of the type, and none of the type is left out: the compiler sees to both. */
type Fields<T> = Readonly<Record<keyof T, true>>;

const WORKLOAD: Fields<WorkloadEndpoint> = {
  state: true,
  name: true,
  active_instance_id: true,
  mac: true,
  profile_ids: true,
  ipv4_nets: true,
  ipv6_nets: true,
  ipv4_nat: true,
  ipv6_nat: true,
  labels: true,
  ipv4_gateway: true,
  ipv6_gateway: true,
  ports: true,
  generate_name: true,
  allow_spoofed_source_ips: true,
  annotations: true,
  qosControls: true,
};

const HOST_ENDPOINT: Fields<HostEndpoint> = {
  name: true,
  expected_ipv4_addrs: true,
  expected_ipv6_addrs: true,
  labels: true,
  profile_ids: true,
  ports: true,
  qosControls: true,
};

const POLICY: Fields<Policy> = {
  namespace: true,
  tier: true,
  order: true,
  inbound_rules: true,
  outbound_rules: true,
  selector: true,
  untracked: true,
  pre_dnat: true,
  apply_on_forward: true,
  types: true,
  performance_hints: true,
  staged_action: true,
  annotations: true,
};

const TIER: Fields<Tier> = { order: true, defaultAction: true };
const PROFILE_RULES: Fields<ProfileRules> = { inbound_rules: true, outbound_rules: true };
const NETWORK_SET: Fields<NetworkSet> = { nets: true, labels: true, profile_ids: true };

const POOL: Fields<IPPool> = {
  cidr: true,
  ipip: true,
  ipip_mode: true,
  vxlan_mode: true,
  masquerade: true,
  ipam: true,
  disabled: true,
  disableBGPExport: true,
  assignment_mode: true,
  allowed_uses: true,
};

const BLOCK: Fields<Block> = {
  cidr: true,
  affinity: true,
  allocations: true,
  unallocated: true,
  attributes: true,
  sequenceNumber: true,
  sequenceNumberForAllocation: true,
  deleted: true,
};

const WIREGUARD: Fields<Wireguard> = {
  interfaceIPv4Addr: true,
  publicKey: true,
  interfaceIPv6Addr: true,
  publicKeyV6: true,
};

const RULE: Fields<Rule> = {
  action: true,
  ip_version: true,
  protocol: true,
  icmp_type: true,
  icmp_code: true,
  "!protocol": true,
  "!icmp_type": true,
  "!icmp_code": true,
  src_net: true,
  src_nets: true,
  src_selector: true,
  src_ports: true,
  src_service: true,
  src_service_ns: true,
  dst_net: true,
  dst_nets: true,
  dst_selector: true,
  dst_ports: true,
  dst_service: true,
  dst_service_ns: true,
  "!src_net": true,
  "!src_nets": true,
  "!src_selector": true,
  "!src_ports": true,
  "!dst_net": true,
  "!dst_nets": true,
  "!dst_selector": true,
  "!dst_ports": true,
  orig_src_selector: true,
  orig_src_namespace_selector: true,
  orig_dst_selector: true,
  orig_dst_namespace_selector: true,
  orig_not_src_selector: true,
  orig_not_dst_selector: true,
  orig_src_service_acct_names: true,
  orig_src_service_acct_selector: true,
  orig_dst_service_acct_names: true,
  orig_dst_service_acct_selector: true,
  http: true,
  metadata: true,
};

function named(kind: string, fields: Readonly<Record<string, true>>): string[] {
  return Object.keys(fields).map((field) => `${kind}.${field}`);
}

/** What verdicts depend on: every kind and field of it, every operator, every action. */
export const POLICY_COVERAGE: readonly string[] = [
  ...named("WorkloadEndpoint", WORKLOAD),
  ...named("HostEndpoint", HOST_ENDPOINT),
  ...named("Policy", POLICY),
  ...named("Tier", TIER),
  ...named("ProfileRules", PROFILE_RULES),
  ...named("NetworkSet", NETWORK_SET),
  ...named("Rule", RULE),
  ...Object.keys(Op).map((name) => `operator ${name}`),
  ...["allow", "deny", "log", "next-tier", "pass", "none"].map((action) => `action ${action}`),
  ...([
    "NetworkPolicy",
    "GlobalNetworkPolicy",
    "KubernetesNetworkPolicy",
    "KubernetesClusterNetworkPolicy",
    "StagedNetworkPolicy",
    "StagedGlobalNetworkPolicy",
    "StagedKubernetesNetworkPolicy",
  ] satisfies PolicyKind[]),
  "Profile.labelsToApply",
  ...["addressType", "endpoints", "ports", "labels"].map((field) => `KubernetesEndpointSlice.${field}`),
];

/** What a graph reads of resources beside what verdicts depend on. */
const RESOURCE_FIELDS: readonly string[] = [
  "Node.labels",
  "Node.bgp.ipv4Address",
  "Node.bgp.ipv6Address",
  "Node.bgp.asNumber",
  "Node.bgp.ipv4IPIPTunnelAddr",
  "Node.addresses",
  "Node.ipv4VXLANTunnelAddr",
  "Node.ipv6VXLANTunnelAddr",
  "Node.wireguard.interfaceIPv4Address",
  "Node.wireguard.interfaceIPv6Address",
  "FelixConfiguration.nodeSelector",
  "LiveMigration.Source.Workload",
  "LiveMigration.Source.WorkloadEndpoint",
  "LiveMigration.Target.Selector",
  "LiveMigration.Target.WorkloadEndpoint",
  "BGPPeer.node",
  "BGPPeer.nodeSelector",
  "BGPPeer.localWorkloadSelector",
  "BGPConfiguration.serviceClusterIPs",
  "BGPConfiguration.serviceExternalIPs",
  "BGPConfiguration.serviceLoadBalancerIPs",
  "BGPConfiguration.localWorkloadPeeringIPV4",
  "BGPConfiguration.localWorkloadPeeringIPV6",
  "KubernetesService.type",
  "KubernetesService.clusterIPs",
  "KubernetesService.externalIPs",
  "KubernetesService.loadBalancerIP",
  "KubernetesService.ports",
  "KubernetesService.status.loadBalancer",
];

/** All that a graph reads. */
export const FULL_COVERAGE: readonly string[] = [
  ...POLICY_COVERAGE,
  ...named("IPPool", POOL),
  ...named("Block", BLOCK),
  ...named("Wireguard", WIREGUARD),
  ...(["ProfileLabels", "HostConfig", "GlobalConfig", "ReadyFlag"] satisfies KeyType[]),
  ...["IPv4VXLANTunnelAddr", "IPv6VXLANTunnelAddr", "VXLANTunnelMACAddr", "VXLANTunnelMACAddrV6"].map(
    (name) => `HostConfig.${name}`,
  ),
  ...RESOURCE_FIELDS,
];
