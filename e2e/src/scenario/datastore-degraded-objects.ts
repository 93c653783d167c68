import type { KubeObject } from "../kube/kube-admin.ts";

export const NAMESPACE = "world";

/** One kind of the felix stream: an object that is well, beside one that is not. */
export interface Row {
  /** As the syncer calls it. */
  readonly kind: string;
  /** A well-formed object, its `n`-th version. */
  readonly good: (n: number) => KubeObject;
  /** Where it arrives. */
  readonly goodPath: string;
  /** The server takes it, and nobody can use it as it is written. */
  readonly odd: KubeObject;
  /** The same object, well-formed. */
  readonly mended: KubeObject;
  /** Where that arrives. */
  readonly mendedPath: string;
}

type Fields = Readonly<Record<string, unknown>>;

function calico(kind: string, name: string, spec: unknown, apiVersion: string, namespace?: string): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace !== undefined && { namespace }) }, spec };
}

/**
 * A row for each of Calico's kinds. Names are `good` and `odd`, but for kinds whose names say whom they are for.
 *
 * @param apiVersion Of the group that the cluster has.
 */
export function calicoRows(apiVersion: string): readonly Row[] {
  const v3 = "/calico/resources/v3/projectcalico.org";
  const row = (
    kind: string,
    path: (name: string, spec: Fields) => string,
    good: (n: number) => Fields,
    odd: Fields,
    { names = ["good", "odd"], namespace }: { names?: readonly [string, string]; namespace?: string } = {},
  ): Row => {
    const [goodName, oddName] = names;
    const mended = good(900);
    return {
      kind,
      good: (n) => calico(kind, goodName, good(n), apiVersion, namespace),
      goodPath: path(goodName, good(0)),
      odd: calico(kind, oddName, odd, apiVersion, namespace),
      mended: calico(kind, oddName, mended, apiVersion, namespace),
      mendedPath: path(oddName, mended),
    };
  };
  const namespace = NAMESPACE;
  const policy =
    (kind: string, ns = "") =>
    (name: string) =>
      `/calico/v1/policy/${kind}/${ns}/${name}`;
  const ordered = (n: number): Fields => ({
    tier: "default",
    order: n,
    selector: "all()",
    ingress: [{ action: "Allow" }],
  });
  const cut = { tier: "default", selector: "has(", ingress: [{ action: "Allow" }] };
  const pool = (n: number): Fields => ({ cidr: n === 900 ? "10.9.0.0/16" : "10.8.0.0/16", natOutgoing: n % 2 === 1 });
  const block = (n: number): Fields => ({
    cidr: n === 900 ? "10.9.0.0/26" : "10.8.0.0/26",
    affinity: `host:n${n}`,
    allocations: [],
    unallocated: [],
    attributes: [],
  });
  const dashed = (_: string, { cidr }: Fields): string => String(cidr).replace("/", "-");
  return [
    row(
      "ClusterInformation",
      (name) => (name === "default" ? "/calico/v1/config/ClusterGUID" : "/calico/v1/host/good/config/ClusterGUID"),
      (n) => ({ calicoVersion: "v3.32.0", clusterGUID: `a${n}` }),
      { calicoVersion: "v3.32.0", clusterGUID: { odd: 1 } },
      { names: ["node.good", "default"] },
    ),
    row(
      "FelixConfiguration",
      (name) => `/calico/v1/host/${name.slice(5)}/config/IpInIpMtu`,
      (n) => ({ ipipMTU: 1000 + n }),
      { ipipMTU: { odd: 1 } },
      { names: ["node.good", "node.odd"] },
    ),
    row("GlobalNetworkPolicy", policy("GlobalNetworkPolicy"), ordered, cut),
    row("StagedGlobalNetworkPolicy", policy("StagedGlobalNetworkPolicy"), ordered, { tier: "default", order: "first" }),
    row("NetworkPolicy", policy("NetworkPolicy", namespace), ordered, cut, { namespace }),
    row("StagedNetworkPolicy", policy("StagedNetworkPolicy", namespace), ordered, cut, { namespace }),
    row(
      "StagedKubernetesNetworkPolicy",
      policy("StagedKubernetesNetworkPolicy", namespace),
      (n) => ({ podSelector: { matchLabels: { n: `v${n}` } }, policyTypes: ["Ingress"] }),
      { podSelector: { matchLabels: 5 } },
      { namespace },
    ),
    row(
      "Tier",
      (name) => `/calico/v1/policy/tier/${name}/metadata`,
      (n) => ({ order: n }),
      { order: "first" },
    ),
    row(
      "GlobalNetworkSet",
      (name) => `/calico/v1/netset/${name}`,
      (n) => ({ nets: [`10.1.${n % 250}.0/24`] }),
      { nets: ["10.0.0.0/8", 7] },
    ),
    row(
      "NetworkSet",
      (name) => `/calico/v1/netset/${namespace}%2f${name}`,
      (n) => ({ nets: [`10.1.${n % 250}.0/24`] }),
      { nets: "10.0.0.0/8" },
      { namespace },
    ),
    row("IPPool", (name, spec) => `/calico/v1/ipam/v4/pool/${dashed(name, spec)}`, pool, { cidr: "no net" }),
    row(
      "HostEndpoint",
      (name) => `/calico/v1/host/n1/endpoint/${name}`,
      (n) => ({ node: "n1", interfaceName: "eth0", expectedIPs: [`192.0.2.${n % 250}`] }),
      { node: 5 },
    ),
    row(
      "BGPConfiguration",
      (name) => `${v3}/bgpconfigurations/${name}`,
      (n) => ({ asNumber: 64_000 + n }),
      { serviceClusterIPs: [{ cidr: "no net" }] },
    ),
    row(
      "BGPPeer",
      (name) => `${v3}/bgppeers/${name}`,
      (n) => ({ peerIP: `192.0.2.${n % 250}`, asNumber: 64_512 }),
      { peerIP: 5 },
    ),
    row(
      "IPAMBlock",
      (name, spec) => `/calico/ipam/v2/assignment/ipv4/block/${dashed(name, spec)}`,
      block,
      { cidr: "no net" },
      { names: ["10-8-0-0-26", "odd"] },
    ),
  ];
}

/**
 * Rows for Kubernetes' own kinds of which the server itself does not check all that is read. Of the others it takes no
 * malformed object: {@link REFUSED_BY_THE_SERVER}. A node's odd annotation is left out, and the node stays in use.
 */
export const NATIVE_ROWS: readonly Row[] = [
  {
    kind: "WorkloadEndpoint",
    good: (n) => pod("good", `10.65.0.${1 + (n % 100)}`),
    goodPath: podPath("good"),
    odd: pod("odd", "10.65.0.201", { "cni.projectcalico.org/allowedSourcePrefixes": '["gumbo"]' }),
    mended: pod("odd", "10.65.0.201", { "cni.projectcalico.org/allowedSourcePrefixes": '["10.7.0.0/16"]' }),
    mendedPath: podPath("odd"),
  },
  {
    kind: "KubernetesClusterNetworkPolicy",
    good: (n) => clusterPolicy("good", "Admin", n),
    goodPath: "/calico/v1/policy/KubernetesClusterNetworkPolicy//good",
    odd: clusterPolicy("odd", "Nowhere", 901),
    mended: clusterPolicy("odd", "Admin", 901),
    mendedPath: "/calico/v1/policy/KubernetesClusterNetworkPolicy//odd",
  },
];

const named = (name: string): KubeObject["metadata"] => ({ name, namespace: NAMESPACE });

/** One malformed object of each of Kubernetes' kinds that the server checks whole. */
export const REFUSED_BY_THE_SERVER: readonly KubeObject[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "odd", labels: { odd: "not a label" } } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...named("odd"), labels: { "not a key": "" } } },
  { apiVersion: "v1", kind: "Service", metadata: named("odd"), spec: { ports: [{ port: 70_000 }] } },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: named("odd"),
    addressType: "IPv4",
    endpoints: [{ addresses: ["nowhere"] }],
    ports: [],
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: named("odd"),
    spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/99" } }] }] },
  },
];

function podPath(name: string): string {
  return `/calico/v1/host/n1/workload/k8s/${NAMESPACE}%2f${name}/endpoint/eth0`;
}

function pod(name: string, ip: string, annotations: Fields = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE, annotations },
    spec: {
      nodeName: "n1",
      serviceAccountName: "default",
      containers: [{ name: "main", image: "registry.invalid/none" }],
    },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
  };
}

function clusterPolicy(name: string, tier: string, priority: number): KubeObject {
  return {
    apiVersion: "policy.networking.k8s.io/v1alpha2",
    kind: "ClusterNetworkPolicy",
    metadata: { name },
    spec: {
      tier,
      priority,
      subject: { namespaces: {} },
      ingress: [{ action: "Deny", from: [{ namespaces: {} }] }],
    },
  };
}
