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

export interface WorkloadEndpointKey {
  readonly type: "WorkloadEndpoint";
  readonly hostname: string;
  readonly orchestrator: string;
  /** For Kubernetes: `namespace/pod`. */
  readonly workload: string;
  readonly endpoint: string;
}

export interface HostEndpointKey {
  readonly type: "HostEndpoint";
  readonly hostname: string;
  readonly endpoint: string;
}

export type PolicyKind =
  | "NetworkPolicy"
  | "GlobalNetworkPolicy"
  | "KubernetesNetworkPolicy"
  | "KubernetesClusterNetworkPolicy"
  | "StagedNetworkPolicy"
  | "StagedGlobalNetworkPolicy"
  | "StagedKubernetesNetworkPolicy";

export interface PolicyKey {
  readonly type: "Policy";
  readonly kind: PolicyKind;
  /** Empty for the global kinds. */
  readonly namespace: string;
  readonly name: string;
}

export interface TierKey {
  readonly type: "Tier";
  readonly name: string;
}

export interface ProfileRulesKey {
  readonly type: "ProfileRules";
  readonly name: string;
}

export interface ProfileLabelsKey {
  readonly type: "ProfileLabels";
  readonly name: string;
}

export interface NetworkSetKey {
  readonly type: "NetworkSet";
  /** `name`, or `namespace/name` for a namespaced set. */
  readonly name: string;
}

export interface IPPoolKey {
  readonly type: "IPPool";
  /** Masked CIDR text. */
  readonly cidr: string;
}

export interface BlockKey {
  readonly type: "Block";
  readonly cidr: string;
}

export interface BlockAffinityKey {
  readonly type: "BlockAffinity";
  readonly affinityType: "host" | "virtual";
  readonly host: string;
  readonly cidr: string;
}

export interface HostConfigKey {
  readonly type: "HostConfig";
  readonly hostname: string;
  readonly name: string;
}

export interface GlobalConfigKey {
  readonly type: "GlobalConfig";
  readonly name: string;
}

export interface ReadyFlagKey {
  readonly type: "ReadyFlag";
}

export interface WireguardKey {
  readonly type: "Wireguard";
  readonly hostname: string;
}

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
