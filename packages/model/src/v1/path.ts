import { unreachable } from "@bulrush/base";
import { parseCidr } from "@bulrush/ip";
import type { Key, PolicyKind, ResourceKind } from "./key.ts";

/** Plural path segment of each kind that travels as a resource. */
export const RESOURCE_PLURALS: Readonly<Record<ResourceKind, string>> = {
  Node: "nodes",
  Profile: "profiles",
  BGPPeer: "bgppeers",
  BGPConfiguration: "bgpconfigurations",
  BGPFilter: "bgpfilters",
  FelixConfiguration: "felixconfigurations",
  CalicoNodeStatus: "caliconodestatuses",
  LiveMigration: "livemigrations",
  KubernetesService: "kubernetesservices",
  KubernetesEndpointSlice: "kubernetesendpointslices",
};

const RESOURCE_KINDS: ReadonlyMap<string, ResourceKind> = new Map(
  Object.entries(RESOURCE_PLURALS).map(([kind, plural]) => [plural, kind as ResourceKind]),
);

/** Kinds of policy, each with whether it has a namespace. */
export const POLICY_KINDS: Readonly<Record<PolicyKind, { readonly namespaced: boolean; readonly staged: boolean }>> = {
  NetworkPolicy: { namespaced: true, staged: false },
  GlobalNetworkPolicy: { namespaced: false, staged: false },
  KubernetesNetworkPolicy: { namespaced: true, staged: false },
  KubernetesClusterNetworkPolicy: { namespaced: false, staged: false },
  StagedNetworkPolicy: { namespaced: true, staged: true },
  StagedGlobalNetworkPolicy: { namespaced: false, staged: true },
  StagedKubernetesNetworkPolicy: { namespaced: true, staged: true },
};

/** `%` and `/` escaped, as the paths of upstream have it; nothing else is. */
function escape(segment: string): string {
  return segment.includes("%") || segment.includes("/")
    ? segment.replaceAll("%", "%25").replaceAll("/", "%2f")
    : segment;
}

function unescape(segment: string): string {
  return segment.includes("%") ? segment.replaceAll(/%2f/gi, "/").replaceAll("%25", "%") : segment;
}

function cidrSegment(cidr: string): string {
  return cidr.replace("/", "-");
}

function cidrVersion(cidr: string): 4 | 6 {
  return cidr.includes(":") ? 6 : 4;
}

/** The default path of a key: unique, and what the key is stored and sent under. */
export function formatKey(key: Key): string {
  switch (key.type) {
    case "WorkloadEndpoint":
      return `/calico/v1/host/${key.hostname}/workload/${escape(key.orchestrator)}/${escape(key.workload)}/endpoint/${escape(key.endpoint)}`;
    case "HostEndpoint":
      return `/calico/v1/host/${key.hostname}/endpoint/${escape(key.endpoint)}`;
    case "Policy":
      return `/calico/v1/policy/${key.kind}/${key.namespace}/${key.name}`;
    case "Tier":
      return `/calico/v1/policy/tier/${key.name}/metadata`;
    case "ProfileRules":
      return `/calico/v1/policy/profile/${escape(key.name)}/rules`;
    case "ProfileLabels":
      return `/calico/v1/policy/profile/${escape(key.name)}/labels`;
    case "NetworkSet":
      return `/calico/v1/netset/${escape(key.name)}`;
    case "IPPool":
      return `/calico/v1/ipam/v${cidrVersion(key.cidr)}/pool/${cidrSegment(key.cidr)}`;
    case "Block":
      return `/calico/ipam/v2/assignment/ipv${cidrVersion(key.cidr)}/block/${cidrSegment(key.cidr)}`;
    case "BlockAffinity":
      return `/calico/ipam/v2/${key.affinityType}/${key.host}/ipv${cidrVersion(key.cidr)}/block/${cidrSegment(key.cidr)}`;
    case "HostConfig":
      return `/calico/v1/host/${key.hostname}/config/${key.name}`;
    case "GlobalConfig":
      return `/calico/v1/config/${key.name}`;
    case "ReadyFlag":
      return "/calico/v1/Ready";
    case "Wireguard":
      return `/calico/v1/host/${key.hostname}/wireguard`;
    case "Resource": {
      const plural = RESOURCE_PLURALS[key.kind];
      const name = key.namespace === "" ? key.name : `${key.namespace}/${key.name}`;
      return `/calico/resources/v3/projectcalico.org/${plural}/${name}`;
    }
    default:
      return unreachable(key);
  }
}

function parseCidrSegment(segment: string, version: string): string | undefined {
  const dash = segment.lastIndexOf("-");
  if (dash <= 0) return undefined;
  const cidr = `${segment.slice(0, dash)}/${segment.slice(dash + 1)}`;
  return parseCidr(cidr)?.family === Number(version) ? cidr : undefined;
}

function parseHost(parts: readonly string[]): Key | undefined {
  const [hostname, what, a, b, c, d] = parts;
  if (hostname === undefined || hostname === "") return undefined;
  if (what === "workload" && parts.length === 6 && c === "endpoint") {
    return {
      type: "WorkloadEndpoint",
      hostname,
      orchestrator: unescape(a ?? ""),
      workload: unescape(b ?? ""),
      endpoint: unescape(d ?? ""),
    };
  }
  if (what === "endpoint" && parts.length === 3) return { type: "HostEndpoint", hostname, endpoint: unescape(a ?? "") };
  if (what === "config" && parts.length === 3) return { type: "HostConfig", hostname, name: a ?? "" };
  if (what === "wireguard" && parts.length === 2) return { type: "Wireguard", hostname };
  return undefined;
}

function parsePolicy(parts: readonly string[]): Key | undefined {
  const [kind, a, b] = parts;
  if (kind === "tier" && parts.length === 3 && b === "metadata") return { type: "Tier", name: a ?? "" };
  if (kind === "tier" && parts.length === 4 && b === "policy") return parseLegacyPolicy(parts[3] ?? "");
  if (kind === "profile" && parts.length === 3) {
    if (b === "rules") return { type: "ProfileRules", name: unescape(a ?? "") };
    if (b === "labels") return { type: "ProfileLabels", name: unescape(a ?? "") };
    return undefined;
  }
  const facts = kind === undefined ? undefined : POLICY_KINDS[kind as PolicyKind];
  if (facts === undefined || parts.length !== 3 || b === undefined || b === "") return undefined;
  const namespace = a ?? "";
  if (facts.namespaced !== (namespace !== "")) return undefined;
  return { type: "Policy", kind: kind as PolicyKind, namespace, name: b };
}

/**
 * A policy key of a Typha before 3.32: the kind hides in the name. The caller sets the value's `tier` from the path
 * (see {@link legacyTierOf}).
 */
function parseLegacyPolicy(escaped: string): Key | undefined {
  const full = unescape(escaped);
  const slash = full.indexOf("/");
  const namespace = slash < 0 ? "" : full.slice(0, slash);
  let name = slash < 0 ? full : full.slice(slash + 1);
  const staged = name.startsWith("staged:");
  if (staged) name = name.slice("staged:".length);
  let kind: PolicyKind;
  if (namespace === "") {
    // Only an enforced one was ever copied from a cluster policy.
    if (!staged && name.startsWith("kcnp.")) {
      kind = "KubernetesClusterNetworkPolicy";
      name = name.slice("kcnp.".length);
    } else kind = staged ? "StagedGlobalNetworkPolicy" : "GlobalNetworkPolicy";
  } else if (name.startsWith("knp.default.")) {
    kind = staged ? "StagedKubernetesNetworkPolicy" : "KubernetesNetworkPolicy";
    name = name.slice("knp.default.".length);
  } else kind = staged ? "StagedNetworkPolicy" : "NetworkPolicy";
  return name === "" ? undefined : { type: "Policy", kind, namespace, name };
}

/** The tier in the path of a legacy policy key; `undefined` for every other path. */
export function legacyTierOf(path: string): string | undefined {
  return /^\/?calico\/v1\/policy\/tier\/([^/]+)\/policy\/[^/]+$/.exec(path)?.[1];
}

function parseResource(parts: readonly string[]): Key | undefined {
  const kind = RESOURCE_KINDS.get(parts[0] ?? "");
  if (kind === undefined) return undefined;
  if (parts.length === 2) return { type: "Resource", kind, namespace: "", name: parts[1] ?? "" };
  if (parts.length === 3) return { type: "Resource", kind, namespace: parts[1] ?? "", name: parts[2] ?? "" };
  return undefined;
}

/**
 * Reads a default path. `undefined` for anything that is none of our keys; no name in a key is empty, but for the
 * namespace of what has none. A missing leading slash is accepted for v1 paths only, as upstream does.
 */
export function parseKey(path: string): Key | undefined {
  // Only a policy without a namespace has an empty segment.
  if (path.endsWith("/") || (path.indexOf("//") >= 0 && !/^\/?calico\/v1\/policy\/[A-Z][A-Za-z]+\/\/[^/]+$/.test(path)))
    return undefined;
  const absolute = path.startsWith("/");
  const parts = (absolute ? path.slice(1) : path).split("/");
  if (parts[0] !== "calico") return undefined;
  if (parts[1] === "resources") {
    if (!absolute || parts[2] !== "v3" || parts[3] !== "projectcalico.org") return undefined;
    return parseResource(parts.slice(4));
  }
  if (parts[1] === "ipam" && parts[2] === "v2") {
    const version = /^ipv([46])$/.exec(parts[parts.length - 3] ?? "")?.[1];
    if (version === undefined || parts[parts.length - 2] !== "block") return undefined;
    const cidr = parseCidrSegment(parts[parts.length - 1] ?? "", version);
    if (cidr === undefined) return undefined;
    if (parts[3] === "assignment" && parts.length === 7) return { type: "Block", cidr };
    if ((parts[3] === "host" || parts[3] === "virtual") && parts.length === 8)
      return { type: "BlockAffinity", affinityType: parts[3], host: parts[4] ?? "", cidr };
    return undefined;
  }
  if (parts[1] !== "v1") return undefined;
  const rest = parts.slice(3);
  switch (parts[2]) {
    case "host":
      return parseHost(rest);
    case "policy":
      return parsePolicy(rest);
    case "netset":
      return rest.length === 1 && rest[0] !== "" ? { type: "NetworkSet", name: unescape(rest[0] ?? "") } : undefined;
    case "ipam": {
      const version = /^v([46])$/.exec(rest[0] ?? "")?.[1];
      if (version === undefined || rest[1] !== "pool" || rest.length !== 3) return undefined;
      const cidr = parseCidrSegment(rest[2] ?? "", version);
      return cidr === undefined ? undefined : { type: "IPPool", cidr };
    }
    case "config":
      return rest.length === 1 && rest[0] !== "" ? { type: "GlobalConfig", name: rest[0] ?? "" } : undefined;
    case "Ready":
      return absolute && rest.length === 0 ? { type: "ReadyFlag" } : undefined;
    default:
      return undefined;
  }
}
