import { nearestName } from "@bulrush/base";

/** A group and version that we read. */
export const CALICO_V3 = "projectcalico.org/v3";
/** The same resources as their CRDs store them. */
export const CALICO_CRD_V1 = "crd.projectcalico.org/v1";

/** What is known of a kind that may stand in a manifest. */
export interface KindFacts {
  /** The group and version we read; Calico kinds are read from {@link CALICO_CRD_V1} too. */
  readonly apiVersion: string;
  readonly kind: string;
  /** Lower case, as in a REST path. */
  readonly plural: string;
  readonly namespaced: boolean;
}

type Row = readonly [kind: string, plural: string, scope?: "namespaced"];

const CALICO: readonly Row[] = [
  ["BGPConfiguration", "bgpconfigurations"],
  ["BGPFilter", "bgpfilters"],
  ["BGPPeer", "bgppeers"],
  ["BlockAffinity", "blockaffinities"],
  ["CalicoNodeStatus", "caliconodestatuses"],
  ["ClusterInformation", "clusterinformations"],
  ["FelixConfiguration", "felixconfigurations"],
  ["GlobalNetworkPolicy", "globalnetworkpolicies"],
  ["GlobalNetworkSet", "globalnetworksets"],
  ["HostEndpoint", "hostendpoints"],
  ["IPAMBlock", "ipamblocks"],
  ["IPAMConfig", "ipamconfigs"],
  ["IPAMConfiguration", "ipamconfigurations"],
  ["IPAMHandle", "ipamhandles"],
  ["IPPool", "ippools"],
  ["IPReservation", "ipreservations"],
  ["KubeControllersConfiguration", "kubecontrollersconfigurations"],
  ["LiveMigration", "livemigrations", "namespaced"],
  ["NetworkPolicy", "networkpolicies", "namespaced"],
  ["NetworkSet", "networksets", "namespaced"],
  ["Node", "nodes"],
  ["Profile", "profiles"],
  ["StagedGlobalNetworkPolicy", "stagedglobalnetworkpolicies"],
  ["StagedKubernetesNetworkPolicy", "stagedkubernetesnetworkpolicies", "namespaced"],
  ["StagedNetworkPolicy", "stagednetworkpolicies", "namespaced"],
  ["Tier", "tiers"],
  ["WorkloadEndpoint", "workloadendpoints", "namespaced"],
];

const KUBERNETES: Readonly<Record<string, readonly Row[]>> = {
  v1: [
    ["Namespace", "namespaces"],
    ["Node", "nodes"],
    ["Pod", "pods", "namespaced"],
    ["Service", "services", "namespaced"],
    ["ServiceAccount", "serviceaccounts", "namespaced"],
  ],
  "networking.k8s.io/v1": [["NetworkPolicy", "networkpolicies", "namespaced"]],
  "discovery.k8s.io/v1": [["EndpointSlice", "endpointslices", "namespaced"]],
  "policy.networking.k8s.io/v1alpha2": [["ClusterNetworkPolicy", "clusternetworkpolicies"]],
};

function factsOf(apiVersion: string, [kind, plural, scope]: Row): KindFacts {
  return { apiVersion, kind, plural, namespaced: scope === "namespaced" };
}

/** Every kind that we read, Calico's first. */
export const KINDS: readonly KindFacts[] = [
  ...CALICO.map((row) => factsOf(CALICO_V3, row)),
  ...Object.entries(KUBERNETES).flatMap(([apiVersion, rows]) => rows.map((row) => factsOf(apiVersion, row))),
];

const BY_NAME: ReadonlyMap<string, KindFacts> = new Map([
  ...KINDS.map((facts) => [`${facts.apiVersion} ${facts.kind}`, facts] as const),
  ...CALICO.map((row) => [`${CALICO_CRD_V1} ${row[0]}`, factsOf(CALICO_V3, row)] as const),
]);

/** The facts of a kind, or undefined for one that we do not read. */
export function kindFacts(apiVersion: string, kind: string): KindFacts | undefined {
  return BY_NAME.get(`${apiVersion} ${kind}`);
}

const OUR_GROUPS: ReadonlySet<string> = new Set([
  "projectcalico.org",
  "crd.projectcalico.org",
  "networking.k8s.io",
  "discovery.k8s.io",
  "policy.networking.k8s.io",
]);

const KIND_NAMES: ReadonlySet<string> = new Set(KINDS.map(({ kind }) => kind));
/** Kinds whose names others use for things of theirs. */
const SHARED_NAMES: ReadonlySet<string> = new Set([
  ...Object.values(KUBERNETES).flatMap((rows) => rows.map(([kind]) => kind)),
  "NetworkPolicy",
  "NetworkSet",
  "Tier",
  "Profile",
  "IPPool",
]);

/**
 * True where a kind that we do not read is more likely a slip than somebody else's: a group with kinds of ours, or a
 * kind of ours under a group that is nearly one of them, or under none.
 */
export function isLikelyOurs(apiVersion: string, kind: string): boolean {
  const slash = apiVersion.indexOf("/");
  const group = apiVersion.slice(0, Math.max(0, slash));
  if (OUR_GROUPS.has(group)) return true;
  if (!KIND_NAMES.has(kind)) return false;
  return slash < 0 || !SHARED_NAMES.has(kind) || nearestName(group, OUR_GROUPS) !== undefined;
}
