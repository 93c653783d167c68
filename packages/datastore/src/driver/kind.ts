/**
 * What a driver lists and watches: one stream of v3 shapes each. The kinds named `Kubernetes...` keep their
 * Kubernetes shape; WorkloadEndpoint is made from Pods, Profile from Namespaces and ServiceAccounts (beside the ones
 * stored as such), Node from Kubernetes Nodes.
 */
export const DATASTORE_KINDS = [
  "ClusterInformation",
  "FelixConfiguration",
  "GlobalNetworkPolicy",
  "StagedGlobalNetworkPolicy",
  "NetworkPolicy",
  "StagedNetworkPolicy",
  "StagedKubernetesNetworkPolicy",
  "Tier",
  "GlobalNetworkSet",
  "NetworkSet",
  "IPPool",
  "HostEndpoint",
  "Node",
  "Profile",
  "WorkloadEndpoint",
  "BGPConfiguration",
  "BGPPeer",
  "BGPFilter",
  "LiveMigration",
  "KubernetesNetworkPolicy",
  "KubernetesClusterNetworkPolicy",
  "KubernetesEndpointSlice",
  "KubernetesService",
  "IPAMBlock",
  "BlockAffinity",
  "CalicoNodeStatus",
  "IPReservation",
  "KubeControllersConfiguration",
  "IPAMConfig",
  "IPAMHandle",
] as const;

/** A kind that syncers list; see {@link DATASTORE_KINDS}. */
export type DatastoreKind = (typeof DATASTORE_KINDS)[number];
