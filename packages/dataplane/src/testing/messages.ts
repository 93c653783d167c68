import type {
  DataplaneHostEndpoint,
  DataplanePolicy,
  DataplaneRule,
  DataplaneWorkloadEndpoint,
  Encapsulation,
  HostEndpointUpdate,
  IPSetType,
  PolicyID,
  RouteUpdate,
  TierInfo,
  ToDataplane,
  WorkloadEndpointUpdate,
} from "@bulrush/proto";

/** Builders of messages for tests: what is not said has the plainest value. */

export function rule(action: DataplaneRule["action"], fields: Partial<DataplaneRule> = {}): DataplaneRule {
  return { action, ip_version: "ANY", rule_id: "0000000000000000", ...fields };
}

/** "gnp/name" or "np/namespace/name"; other kinds with `kind`. */
export function policyId(word: string, kind?: PolicyID["kind"]): PolicyID {
  const [short, first, second] = word.split("/");
  const global = short === "gnp" || short === "sgnp";
  const kinds: Readonly<Record<string, PolicyID["kind"]>> = {
    gnp: "GlobalNetworkPolicy",
    np: "NetworkPolicy",
    knp: "KubernetesNetworkPolicy",
    sgnp: "StagedGlobalNetworkPolicy",
    snp: "StagedNetworkPolicy",
  };
  return {
    name: (global ? first : second) ?? "",
    namespace: global ? "" : (first ?? ""),
    kind: kind ?? kinds[short ?? ""] ?? "GlobalNetworkPolicy",
  };
}

export function policy(
  id: PolicyID,
  inbound: readonly DataplaneRule[],
  outbound: readonly DataplaneRule[] = [],
  fields: Partial<DataplanePolicy> = {},
): ToDataplane {
  return {
    msg: "ActivePolicyUpdate",
    id,
    policy: {
      inbound_rules: inbound,
      outbound_rules: outbound,
      untracked: false,
      pre_dnat: false,
      namespace: id.namespace,
      tier: "default",
      // Each its own: policies that share a selector are grouped.
      original_selector: `policy == '${id.namespace}/${id.name}'`,
      perf_hints: [],
      ...fields,
    },
  };
}

export function profile(
  id: string,
  inbound: readonly DataplaneRule[],
  outbound: readonly DataplaneRule[] = [],
): ToDataplane {
  return { msg: "ActiveProfileUpdate", id, profile: { inbound_rules: inbound, outbound_rules: outbound } };
}

export function ipSet(id: string, type: IPSetType, ...members: readonly string[]): ToDataplane {
  return { msg: "IPSetUpdate", id, type, members };
}

export function ipSetDelta(id: string, added: readonly string[], removed: readonly string[] = []): ToDataplane {
  return { msg: "IPSetDeltaUpdate", id, added_members: added, removed_members: removed };
}

export function tier(
  name: string,
  ingress: readonly PolicyID[],
  egress: readonly PolicyID[] = [],
  defaultAction: TierInfo["default_action"] = "Deny",
): TierInfo {
  return { name, ingress_policies: ingress, egress_policies: egress, default_action: defaultAction };
}

/** Workload `k8s default/<name> eth0` on interface `cali<name>`. */
export function workload(name: string, fields: Partial<DataplaneWorkloadEndpoint> = {}): WorkloadEndpointUpdate {
  return {
    msg: "WorkloadEndpointUpdate",
    id: { orchestrator: "k8s", workload: `default/${name}`, endpoint: "eth0" },
    endpoint: {
      state: "active",
      name: `cali${name}`,
      mac: "",
      profile_ids: [],
      ipv4_nets: [],
      ipv6_nets: [],
      tiers: [],
      ipv4_nat: [],
      ipv6_nat: [],
      allow_spoofed_source_prefixes: [],
      annotations: new Map(),
      qos_policies: [],
      ...fields,
    },
  };
}

/** A route of the graph. */
export function clusterRoute(dst: string, fields: Partial<RouteUpdate> = {}): ToDataplane {
  return {
    msg: "RouteUpdate",
    dst,
    types: ["REMOTE_WORKLOAD"],
    ip_pool_type: "VXLAN",
    dst_node_name: "",
    dst_node_ip: "",
    same_subnet: false,
    nat_outgoing: false,
    local_workload: false,
    tunnel_type: { ipip: false, vxlan: false, wireguard: false },
    borrowed: false,
    ...fields,
  };
}

/** The end of a node's tunnels: "tunnel address, MAC, host's address" of each family that it has. */
export function tunnelEnd(node: string, v4: string | undefined, v6?: string): ToDataplane {
  const [ipv4, mac, host] = v4?.split(", ") ?? [];
  const [ipv6, mac6, host6] = v6?.split(", ") ?? [];
  return {
    msg: "VXLANTunnelEndpointUpdate",
    node,
    mac: mac ?? "",
    ipv4_addr: ipv4 ?? "",
    parent_device_ip: host ?? "",
    mac_v6: mac6 ?? "",
    ipv6_addr: ipv6 ?? "",
    parent_device_ipv6: host6 ?? "",
  };
}

export function encapsulation(fields: Partial<Encapsulation> = {}): ToDataplane {
  return {
    msg: "Encapsulation",
    ipip_enabled: false,
    vxlan_enabled: false,
    vxlan_enabled_v6: false,
    no_encap_needed: false,
    ...fields,
  };
}

export function workloadRemove(name: string): ToDataplane {
  return { msg: "WorkloadEndpointRemove", id: workload(name).id };
}

export function hostEndpoint(id: string, fields: Partial<DataplaneHostEndpoint> = {}): HostEndpointUpdate {
  return {
    msg: "HostEndpointUpdate",
    id,
    endpoint: {
      name: "",
      profile_ids: [],
      tiers: [],
      untracked_tiers: [],
      pre_dnat_tiers: [],
      forward_tiers: [],
      expected_ipv4_addrs: [],
      expected_ipv6_addrs: [],
      qos_policies: [],
      ...fields,
    },
  };
}

export const IN_SYNC: ToDataplane = { msg: "InSync" };
