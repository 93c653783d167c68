import { CALICO_V3, type Resource } from "@bulrush/model";
import { type Choices, definedFields } from "../random/choices.ts";
import { randomClusterPolicy, randomKubernetesPolicy } from "../random/random-kubernetes.ts";
import { randomCalicoPolicy, randomTier, TIERS } from "../random/random-policy.ts";
import { SERVICES } from "../random/random-rule.ts";
import { randomLabels, randomSelector } from "../random/random-selector.ts";
import {
  ACCOUNT_LABELS,
  NAMESPACE_LABELS,
  NAMESPACES,
  NETS,
  POD_LABELS,
  SERVED_PORTS,
  SERVICE_ACCOUNTS,
} from "../random/vocabulary.ts";

/** Makes a valid resource of one kind: one of a few names, so that it is often there already. */
export type MakeResource = (choices: Choices) => Resource;

const NODES = ["host-a", "host-b", "host-c"] as const;
/** How the names of things begin that a person writes and no cluster makes. */
export const BY_HAND = "hand-";
/** The orchestrator of workloads that are no pods. */
export const ORCHESTRATOR = "stack";

const POLICY_NAMES = ["p0", "p1", "first.p2", "default.p3"] as const;

function calico(kind: string, name: string, spec: object, metadata: object = {}): Resource {
  return { apiVersion: CALICO_V3, kind, metadata: { name, ...metadata }, spec };
}

function name(choices: Choices, prefix: string, count = 3): string {
  return `${prefix}${choices.below(count)}`;
}

function labels(choices: Choices): { labels: Record<string, string> } {
  return { labels: randomLabels(choices, POD_LABELS) };
}

/** A namespace that things live in: it changes and never goes. */
export function makeNamespace(choices: Choices, namespace: string): Resource {
  const own = { "kubernetes.io/metadata.name": namespace, ...randomLabels(choices, NAMESPACE_LABELS) };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: own } };
}

const makePod: MakeResource = (choices) => {
  const number = choices.below(8);
  const address = { ip: `10.65.1.${number + 10}` };
  const podIPs = choices.chance(0.85)
    ? [address, { ip: `fd65::1:${number + 10}` }].slice(0, choices.between(1, 2))
    : [];
  const containers = choices.some(SERVED_PORTS, 1, 3).map(({ protocol, port }, i) => ({
    name: `c${i}`,
    image: "registry.invalid/none",
    ports: [definedFields({ name: choices.maybe(0.7, () => `n${i}`), containerPort: port, protocol })],
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: choices.pick(NAMESPACES), name: `pod-${number}`, ...labels(choices) },
    spec: definedFields({
      nodeName: choices.maybe(0.9, () => choices.pick(NODES)),
      hostNetwork: choices.maybe(0.1, () => true),
      serviceAccountName: choices.pick(SERVICE_ACCOUNTS),
      containers,
    }),
    status: definedFields({
      phase: choices.pick(["Running", "Running", "Running", "Pending", "Succeeded", "Failed"]),
      podIP: podIPs[0]?.ip,
      podIPs: podIPs.length > 0 ? podIPs : undefined,
    }),
  };
};

const makeNode: MakeResource = (choices) => {
  const i = choices.below(NODES.length);
  const annotations = definedFields({
    "projectcalico.org/IPv4Address": `192.0.2.${i + 1}/24`,
    "projectcalico.org/IPv6Address": choices.maybe(0.5, () => `2001:db8::${i + 1}/64`),
    "projectcalico.org/ASNumber": choices.maybe(0.3, () => "64513"),
    "projectcalico.org/IPv4IPIPTunnelAddr": choices.maybe(0.5, () => `10.65.9.${choices.below(9)}`),
    "projectcalico.org/IPv4VXLANTunnelAddr": choices.maybe(0.5, () => `10.65.8.${choices.below(9)}`),
    "projectcalico.org/VXLANTunnelMACAddr": choices.maybe(0.5, () => "66:00:00:00:00:0a"),
    "projectcalico.org/IPv4WireguardInterfaceAddr": choices.maybe(0.3, () => `10.65.7.${choices.below(9)}`),
    "projectcalico.org/WireguardPublicKey": choices.maybe(0.3, () => `${"A".repeat(42)}0=`),
  });
  const addresses = [{ type: "InternalIP", address: `192.0.2.${i + 1}` }];
  const own = { name: NODES[i] as string, ...labels(choices), annotations };
  return { apiVersion: "v1", kind: "Node", metadata: own, status: { addresses } } as Resource;
};

const makeService: MakeResource = (choices) => {
  const number = choices.below(SERVICES.length);
  // An address cannot be changed.
  const address = `10.96.7.${number + 1}`;
  const ports = [{ name: "http", protocol: "TCP", port: 80, targetPort: choices.pick([80, 8080]) }];
  const selector = randomLabels(choices, POD_LABELS);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "red", name: SERVICES[number] as string },
    // All that the server would add by itself, and nothing empty, which it would leave out.
    spec: definedFields({
      type: "ClusterIP",
      clusterIP: address,
      clusterIPs: [address],
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
      sessionAffinity: "None",
      selector: Object.keys(selector).length > 0 ? selector : undefined,
      ports,
    }),
    status: { loadBalancer: {} },
  };
};

const makeSlice: MakeResource = (choices) => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: {
    namespace: choices.pick(NAMESPACES),
    name: name(choices, "slice-", 2),
    labels: { "kubernetes.io/service-name": choices.pick(SERVICES) },
  },
  addressType: "IPv4",
  endpoints: choices
    .some([10, 11, 12, 13], 1, 3)
    .map((number) => ({ addresses: [`10.65.1.${number}`], conditions: { ready: choices.chance(0.5) } })),
  ports: [{ name: "http", port: 80, protocol: "TCP" }],
});

const makeHostEndpoint: MakeResource = (choices) => {
  const node = choices.pick(NODES);
  const spec = definedFields({
    node,
    interfaceName: choices.pick(["eth0", "*"]),
    expectedIPs: choices.maybe(0.6, () => choices.some(["192.0.2.1", "192.0.2.2", "2001:db8::1"], 1, 2)),
    profiles: choices.maybe(0.5, () => ["projectcalico-default-allow"]),
    ports: choices.maybe(0.3, () => [{ name: "ssh", protocol: "TCP", port: 22 }]),
  });
  return calico("HostEndpoint", name(choices, "endpoint-"), spec, labels(choices));
};

/** A pool's network never changes; two of them have the same. */
const makePool: MakeResource = (choices) => {
  const number = choices.below(4);
  const cidr = number === 3 ? "fd65:5::/64" : `10.${70 + (number >> 1)}.0.0/16`;
  const mode = choices.pick(["ipipMode", "vxlanMode"] as const);
  const spec = definedFields({
    cidr,
    [number === 3 ? "vxlanMode" : mode]: choices.pick(["Always", "CrossSubnet", "Never"]),
    natOutgoing: choices.maybe(0.5, () => true),
    disabled: choices.maybe(0.2, () => true),
    nodeSelector: choices.maybe(0.2, () => "has(role)"),
  });
  return calico("IPPool", `pool-${number}`, spec);
};

const makeFelixConfiguration: MakeResource = (choices) => {
  const which = choices.pick(["default", "node.host-a", "chosen"]);
  const spec = definedFields({
    nodeSelector: which === "chosen" ? "has(role)" : undefined,
    iptablesRefreshInterval: choices.maybe(0.4, () => `${choices.between(1, 90)}s`),
    logSeverityScreen: choices.maybe(0.4, () => choices.pick(["Info", "Debug"])),
    failsafeInboundHostPorts: choices.maybe(0.4, () => choices.pick([[], [{ protocol: "TCP", port: 22 }]])),
    routeTableRange: choices.maybe(0.3, () => ({ min: 10, max: choices.between(20, 200) })),
    ipipMTU: choices.maybe(0.3, () => choices.between(1000, 1500)),
  });
  const annotations = choices.maybe(0.2, () => ({ "config.projectcalico.org/ChainInsertMode": "append" }));
  return calico("FelixConfiguration", which, spec, definedFields({ annotations }));
};

const BGP: Readonly<Record<string, MakeResource>> = {
  BGPConfiguration: (choices) => {
    const spec = { asNumber: choices.between(64_512, 64_520), nodeToNodeMeshEnabled: choices.chance(0.5) };
    return calico("BGPConfiguration", choices.pick(["default", "node.host-a"]), spec);
  },
  BGPPeer: (choices) => {
    const place = choices.chance(0.5) ? { node: choices.pick(NODES) } : { nodeSelector: "has(role)" };
    return calico("BGPPeer", name(choices, "peer-"), {
      ...place,
      peerIP: `192.0.2.${choices.between(1, 9)}`,
      asNumber: 64_512,
    });
  },
  BGPFilter: (choices) => {
    const rule = { action: choices.pick(["Accept", "Reject"]), matchOperator: "In", cidr: choices.pick(NETS[4]) };
    return calico("BGPFilter", name(choices, "filter-"), { exportV4: [rule] });
  },
};

const IPAM: Readonly<Record<string, MakeResource>> = {
  IPAMBlock: (choices) => {
    const number = choices.below(3) * 4;
    const isFree = choices.chance(0.3);
    return calico("IPAMBlock", `10-66-0-${number}-30`, {
      cidr: `10.66.0.${number}/30`,
      affinity: choices.chance(0.2) ? null : `host:${choices.pick(NODES)}`,
      allocations: isFree ? [null, null, null, null] : [null, 0, null, null],
      unallocated: isFree ? [0, 1, 2, 3] : [0, 2, 3],
      attributes: isFree ? [] : [{ handle_id: name(choices, "h"), secondary: { node: choices.pick(NODES) } }],
      sequenceNumber: choices.below(1000),
      deleted: choices.chance(0.2),
      strictAffinity: false,
    });
  },
  BlockAffinity: (choices) => {
    const [node, number] = [choices.pick(NODES), choices.below(3) * 4];
    return calico("BlockAffinity", `${node}-10-66-0-${number}-30`, {
      node,
      type: "host",
      cidr: `10.66.0.${number}/30`,
      state: choices.pick(["pending", "confirmed", "pendingDeletion"]),
      deleted: choices.chance(0.3),
    });
  },
  IPAMHandle: (choices) => {
    const handleID = name(choices, "handle-");
    return calico("IPAMHandle", handleID, { handleID, block: { "10.66.0.0/30": choices.between(1, 4) } });
  },
  IPAMConfig: (choices) =>
    calico("IPAMConfig", "default", { strictAffinity: choices.chance(0.5), autoAllocateBlocks: choices.chance(0.5) }),
  IPReservation: (choices) => calico("IPReservation", "kept", { reservedCIDRs: choices.some(NETS[4], 1, 3) }),
};

/** What only a person writes: profiles and workloads that belong to no namespace and no pod. */
const HAND_WRITTEN: Readonly<Record<string, MakeResource>> = {
  Profile: (choices) => {
    const rule = { action: choices.pick(["Allow", "Deny"]), source: { selector: randomSelector(choices) } };
    const own = choices.maybe(0.5, () => randomLabels(choices, POD_LABELS));
    return calico("Profile", name(choices, BY_HAND), definedFields({ ingress: [rule], labelsToApply: own }));
  },
  WorkloadEndpoint: (choices) => {
    const [node, number] = [choices.pick(NODES), choices.below(3)];
    const spec = {
      orchestrator: ORCHESTRATOR,
      node,
      workload: `vm${number}`,
      endpoint: "eth0",
      interfaceName: `tap${number}`,
      ipNetworks: [`10.67.0.${number}/32`],
      profiles: [`${BY_HAND}0`],
    };
    const own = { namespace: choices.pick(NAMESPACES), ...labels(choices) };
    return calico("WorkloadEndpoint", `${node.replaceAll("-", "--")}-${ORCHESTRATOR}-vm${number}-eth0`, spec, own);
  },
};

const POLICIES: Readonly<Record<string, MakeResource>> = {
  NetworkPolicy: (choices) => randomCalicoPolicy(choices, "NetworkPolicy", choices.pick(POLICY_NAMES)),
  GlobalNetworkPolicy: (choices) => randomCalicoPolicy(choices, "GlobalNetworkPolicy", choices.pick(POLICY_NAMES)),
  StagedNetworkPolicy: (choices) => randomCalicoPolicy(choices, "StagedNetworkPolicy", choices.pick(POLICY_NAMES)),
  StagedGlobalNetworkPolicy: (choices) =>
    randomCalicoPolicy(choices, "StagedGlobalNetworkPolicy", choices.pick(POLICY_NAMES)),
  StagedKubernetesNetworkPolicy: (choices) => randomKubernetesPolicy(choices, name(choices, "k"), true),
  KubernetesNetworkPolicy: (choices) => randomKubernetesPolicy(choices, name(choices, "k"), false),
  ClusterNetworkPolicy: (choices) => randomClusterPolicy(choices, name(choices, "c")),
  Tier: (choices) => randomTier(choices, choices.pick(TIERS)),
};

/** Every kind of the script, by a name that says which. */
export const MAKERS: Readonly<Record<string, MakeResource>> = {
  ...POLICIES,
  ...BGP,
  ...IPAM,
  ...HAND_WRITTEN,
  GlobalNetworkSet: (choices) =>
    calico(
      "GlobalNetworkSet",
      name(choices, "n"),
      { nets: choices.some([...NETS[4], ...NETS[6]], 0, 5) },
      labels(choices),
    ),
  NetworkSet: (choices) =>
    calico(
      "NetworkSet",
      name(choices, "n"),
      { nets: choices.some(NETS[4], 0, 5) },
      { namespace: choices.pick(NAMESPACES), ...labels(choices) },
    ),
  HostEndpoint: makeHostEndpoint,
  IPPool: makePool,
  FelixConfiguration: makeFelixConfiguration,
  CalicoNodeStatus: (choices) => {
    const [node, classes] = [choices.pick(NODES), choices.some(["Agent", "BGP", "Routes"], 1, 3)];
    return calico("CalicoNodeStatus", name(choices, "status-"), {
      node,
      classes,
      updatePeriodSeconds: choices.below(60),
    });
  },
  Namespace: (choices) => makeNamespace(choices, name(choices, "spare-")),
  NamespaceInUse: (choices) => makeNamespace(choices, choices.pick(NAMESPACES)),
  ServiceAccount: (choices) => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: {
      namespace: choices.pick(NAMESPACES),
      name: choices.pick(SERVICE_ACCOUNTS),
      labels: randomLabels(choices, ACCOUNT_LABELS),
    },
  }),
  Pod: makePod,
  Node: makeNode,
  Service: makeService,
  EndpointSlice: makeSlice,
};
