import type { DataplanePolicy, PolicyID, ToDataplane } from "@bulrush/proto";

/** Sizes of a ruleset: sets with members, policies of ten rules, one endpoint under all of them. */
export interface Sizes {
  readonly sets: number;
  readonly members: number;
  readonly policies: number;
}

export const RULES_PER_POLICY = 10;

export function policyId(number: number): PolicyID {
  return { name: `policy-${number}`, namespace: "", kind: "GlobalNetworkPolicy" };
}

export function member(set: number, number: number): string {
  return `10.${set >> 8}.${set & 255}.${number & 255}/32`;
}

/** Rules "TCP from a set to a port". `shift` makes another policy of the same number. */
export function policy(number: number, sets: number, shift = 0): ToDataplane {
  const inbound = Array.from({ length: RULES_PER_POLICY }, (_, i) => {
    const port = 1000 + i + shift;
    return {
      action: "allow",
      ip_version: "ANY",
      protocol: { name: "tcp" },
      src_ip_set_ids: [`s:${(number * RULES_PER_POLICY + i) % sets}`],
      dst_ports: [{ first: port, last: port }],
      rule_id: "",
    } as const;
  });
  const body: DataplanePolicy = {
    inbound_rules: inbound,
    outbound_rules: [],
    untracked: false,
    pre_dnat: false,
    namespace: "",
    tier: "default",
    // Policies that share a selector would share a chain: that is not what is measured.
    original_selector: `policy == '${number}'`,
    perf_hints: [],
  };
  return { msg: "ActivePolicyUpdate", id: policyId(number), policy: body };
}

/** An endpoint under policies from `first` on, of `all` there are. */
export function endpoint(
  policies: number,
  end: "Deny" | "Pass" = "Deny",
  first = 0,
  all: number = Number.POSITIVE_INFINITY,
): ToDataplane {
  const ids = Array.from({ length: policies }, (_, i) => policyId((first + i) % all));
  return {
    msg: "WorkloadEndpointUpdate",
    id: { orchestrator: "k8s", workload: `default/a${first}`, endpoint: "eth0" },
    endpoint: {
      state: "active",
      name: `calia${first}`,
      mac: "",
      profile_ids: [],
      ipv4_nets: ["10.255.0.1/32"],
      ipv6_nets: [],
      tiers: [{ name: "default", ingress_policies: ids, egress_policies: ids, default_action: end }],
      ipv4_nat: [],
      ipv6_nat: [],
      allow_spoofed_source_prefixes: [],
      annotations: new Map(),
      qos_policies: [],
    },
  };
}

/** Sets and policies, and endpoints with `each` of the policies. Default: one with all of them. */
export function world(sizes: Sizes, each: number = sizes.policies): ToDataplane[] {
  return [
    ...sets(sizes.sets, sizes.members),
    ...policies(sizes.policies, sizes.sets),
    ...Array.from({ length: sizes.policies / each }, (_, i) => endpoint(each, "Deny", i * each)),
  ];
}

export function sets(count: number, members: number): ToDataplane[] {
  return Array.from({ length: count }, (_, set) => ({
    msg: "IPSetUpdate",
    id: `s:${set}`,
    type: "NET",
    members: Array.from({ length: members }, (_member, i) => member(set, i)),
  }));
}

export function policies(count: number, sets: number): ToDataplane[] {
  return Array.from({ length: count }, (_, i) => policy(i, sets));
}
