/**
 * The v1 keys: what the syncers emit, Typha caches and the calculation graph consumes.
 * Each has one default path (see path.ts); two keys are equal when their paths are.
 */
export type Key =
  | WorkloadEndpointKey
  | HostEndpointKey
  | PolicyKey
  | TierKey
  | ProfileRulesKey
  | ProfileLabelsKey
  | NetworkSetKey
  | IPPoolKey
  | BlockKey
  | BlockAffinityKey
  | HostConfigKey
  | GlobalConfigKey
  | ReadyFlagKey
  | WireguardKey
  | ResourceKey;

export type KeyType = Key["type"];

/** One interface of one workload. */
export interface WorkloadEndpointKey {
  readonly type: "WorkloadEndpoint";
  /** The name of its Node. */
  readonly hostname: string;
  /** For Kubernetes: "k8s". */
  readonly orchestrator: string;
  /** For Kubernetes: `namespace/pod`. */
  readonly workload: string;
  /** For Kubernetes: "eth0". */
  readonly endpoint: string;
}

/** An interface, or an address, of a host itself. */
export interface HostEndpointKey {
  readonly type: "HostEndpoint";
  readonly hostname: string;
  /** The resource's name. */
  readonly endpoint: string;
}

/** Kinds whose resources become v1 policies. The staged ones enforce nothing. */
export type PolicyKind =
  | "NetworkPolicy"
  | "GlobalNetworkPolicy"
  | "KubernetesNetworkPolicy"
  | "KubernetesClusterNetworkPolicy"
  | "StagedNetworkPolicy"
  | "StagedGlobalNetworkPolicy"
  | "StagedKubernetesNetworkPolicy";

/** A policy of any kind. Names are unique within kind and namespace alone. */
export interface PolicyKey {
  readonly type: "Policy";
  readonly kind: PolicyKind;
  /** Empty for the global kinds. */
  readonly namespace: string;
  readonly name: string;
}

/** Policies of one tier are evaluated together; see {@link Tier}. */
export interface TierKey {
  readonly type: "Tier";
  readonly name: string;
}

/**
 * The rules of a profile; see {@link NAMESPACE_PROFILE_PREFIX} for the names of those that Kubernetes objects become.
 */
export interface ProfileRulesKey {
  readonly type: "ProfileRules";
  readonly name: string;
}

/** The labels that a profile's endpoints inherit. Apart from its rules: most changes touch one of the two. */
export interface ProfileLabelsKey {
  readonly type: "ProfileLabels";
  readonly name: string;
}

/** A NetworkSet or a GlobalNetworkSet. */
export interface NetworkSetKey {
  readonly type: "NetworkSet";
  /** `name`, or `namespace/name` for a namespaced set. */
  readonly name: string;
}

/** A pool of workload addresses. One pool for a CIDR: names play no part here. */
export interface IPPoolKey {
  readonly type: "IPPool";
  /** Masked CIDR text. */
  readonly cidr: string;
}

/** A block of IPAM. */
export interface BlockKey {
  readonly type: "Block";
  /** Masked CIDR text. */
  readonly cidr: string;
}

/** Says that a block of addresses belongs to a host (or to what a virtual name stands for). */
export interface BlockAffinityKey {
  readonly type: "BlockAffinity";
  readonly affinityType: "host" | "virtual";
  readonly host: string;
  /** Masked CIDR text. */
  readonly cidr: string;
}

/** A setting, or an address, of one host; its value is text. It wins over a global one. */
export interface HostConfigKey {
  readonly type: "HostConfig";
  readonly hostname: string;
  readonly name: string;
}

/** A setting of all hosts; its value is text. */
export interface GlobalConfigKey {
  readonly type: "GlobalConfig";
  /** In the spelling of FelixConfiguration's parameters ("LogSeverityScreen"), or of ClusterInformation's. */
  readonly name: string;
}

/** Whether the datastore may be read at all: one key, whose value false sends every client back to waiting. */
export interface ReadyFlagKey {
  readonly type: "ReadyFlag";
}

/** The WireGuard keys and addresses of one host, both families under one key. */
export interface WireguardKey {
  readonly type: "Wireguard";
  readonly hostname: string;
}

/** Kinds that reach the clients whole, under a {@link ResourceKey}. */
export type ResourceKind =
  | "Node"
  | "Profile"
  | "BGPPeer"
  | "BGPConfiguration"
  | "BGPFilter"
  | "FelixConfiguration"
  | "CalicoNodeStatus"
  | "LiveMigration"
  | "KubernetesService"
  | "KubernetesEndpointSlice";

/** A resource that reaches the clients in its v3 (or Kubernetes) shape. */
export interface ResourceKey {
  readonly type: "Resource";
  readonly kind: ResourceKind;
  /** Empty for the kinds without a namespace. */
  readonly namespace: string;
  readonly name: string;
}
