import { unreachable } from "@bulrush/base";
import type { DataplaneRule, IPSetType, PolicyID, TierInfo, ToDataplane } from "@bulrush/proto";
import {
  clusterRoute,
  encapsulation,
  hostEndpoint,
  tunnelEnd,
  ipSet,
  ipSetDelta,
  policy,
  policyId,
  profile,
  rule,
  tier,
  workload,
} from "./messages.ts";

/** What JSON in a transcript may say of a rule: as the message, with "action" first. */
type RuleJson = Partial<DataplaneRule> & {
  readonly action: DataplaneRule["action"];
  readonly annotations?: Readonly<Record<string, string>>;
};

interface TierJson {
  readonly name: string;
  readonly in?: readonly string[];
  readonly out?: readonly string[];
  readonly end?: TierInfo["default_action"];
}

const COMMANDS = [
  "ipset",
  "delta",
  "policy",
  "profile",
  "workload",
  "hep",
  "pool",
  "services",
  "encapsulation",
  "tunnel",
  "ipip",
  "host",
  "remove",
] as const;

/**
 * One line of a transcript as a message:
 *
 *     ipset ID TYPE MEMBER...            delta ID +MEMBER -MEMBER
 *     policy WORD {"in", "out", "tier", "untracked", "pre_dnat"}
 *     profile NAME {"in", "out"}
 *     workload NAME {"tiers": [{"name", "in", "out", "end"}], ...}      hep ID {..., "untracked", "pre_dnat", "forward"}
 *     pool CIDR {...}                    services CIDR...
 *     encapsulation {"vxlan_enabled", ...}   tunnel NODE ADDRESS MAC HOST     host NODE IPV4 [IPV6]
 *     ipip NETWORK, of this host
 *     remove policy WORD | remove workload NAME | remove ipset ID
 */
export function parseMessage(command: string, rest: string): ToDataplane {
  const [first = "", ...words] = rest.split(" ");
  const known = COMMANDS.find((candidate) => candidate === command);
  if (known === undefined) throw new Error(`Unknown command "${command}"`);
  const json = (): Record<string, unknown> => JSON.parse(words.join(" ")) as Record<string, unknown>;
  switch (known) {
    case "ipset":
      return ipSet(first, words[0] as IPSetType, ...words.slice(1));
    case "delta": {
      const signed = (sign: string): string[] => words.filter((w) => w.startsWith(sign)).map((w) => w.slice(1));
      return ipSetDelta(first, signed("+"), signed("-"));
    }
    case "policy": {
      const { in: inbound, out: outbound, ...fields } = json();
      return policy(policyId(first), rules(inbound), rules(outbound), fields);
    }
    case "profile": {
      const { in: inbound, out: outbound } = json();
      return profile(first, rules(inbound), rules(outbound));
    }
    case "workload": {
      const { tiers, ...fields } = json();
      return workload(first, { ...fields, tiers: tierList(tiers) });
    }
    case "hep": {
      const { tiers, untracked, pre_dnat: preDnat, forward, ...fields } = json();
      return hostEndpoint(first, {
        ...fields,
        tiers: tierList(tiers),
        untracked_tiers: tierList(untracked),
        pre_dnat_tiers: tierList(preDnat),
        forward_tiers: tierList(forward),
      });
    }
    case "pool":
      return {
        msg: "IPAMPoolUpdate",
        id: first.replace("/", "-"),
        pool: { cidr: first, masquerade: false, ipip_mode: "", vxlan_mode: "", allowed_uses: [], ...json() },
      };
    case "encapsulation":
      return encapsulation(JSON.parse(rest) as Record<string, boolean>);
    case "host":
      return {
        msg: "HostMetadataUpdate",
        hostname: first,
        ipv4_addr: words[0] ?? "",
        ipv6_addr: words[1] ?? "",
        asnumber: "",
        labels: new Map(),
      };
    case "tunnel":
      return words[0]?.includes(":") === true
        ? tunnelEnd(first, undefined, words.join(", "))
        : tunnelEnd(first, words.join(", "));
    case "ipip":
      return clusterRoute(first, {
        types: ["LOCAL_TUNNEL"],
        tunnel_type: { ipip: true, vxlan: false, wireguard: false },
      });
    case "services":
      return {
        msg: "GlobalBGPConfigUpdate",
        service_cluster_cidrs: [first, ...words],
        service_external_cidrs: [],
        service_loadbalancer_cidrs: [],
        local_workload_peering_ip_v4: "",
        local_workload_peering_ip_v6: "",
      };
    case "remove":
      if (first === "policy") return { msg: "ActivePolicyRemove", id: policyId(words[0] ?? "") };
      if (first === "ipset") return { msg: "IPSetRemove", id: words[0] ?? "" };
      return { msg: "WorkloadEndpointRemove", id: workload(words[0] ?? "").id };
    default:
      return unreachable(known);
  }
}

function rules(json: unknown): DataplaneRule[] {
  return ((json ?? []) as readonly RuleJson[]).map(({ action, annotations, ...fields }) =>
    rule(action, {
      ...fields,
      ...(annotations === undefined ? {} : { metadata: { annotations: new Map(Object.entries(annotations)) } }),
    }),
  );
}

function tierList(json: unknown): TierInfo[] {
  const ids = (words: readonly string[] | undefined): PolicyID[] => (words ?? []).map((word) => policyId(word));
  return ((json ?? []) as readonly TierJson[]).map(({ name, in: ingress, out: egress, end }) =>
    tier(name, ids(ingress), ids(egress), end ?? "Deny"),
  );
}
