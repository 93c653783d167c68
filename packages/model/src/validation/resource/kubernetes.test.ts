import { describeRows, type Row } from "./describe-rows.ts";
import { made } from "./made.ts";

function policy(spec: object, ...paths: string[]): Row {
  return [made("KubernetesNetworkPolicy", spec), ...paths.map((path) => `spec.${path}`)];
}

function peer(value: unknown, ...paths: string[]): Row {
  return policy({ ingress: [{ from: [value] }] }, ...paths.map((path) => `ingress[0].from[0]${path}`));
}

function port(value: unknown, ...paths: string[]): Row {
  return policy({ egress: [{ ports: [value] }] }, ...paths.map((path) => `egress[0].ports[0]${path}`));
}

function expression(value: object, ...paths: string[]): Row {
  return policy(
    { podSelector: { matchExpressions: [{ key: "a", ...value }] } },
    ...paths.map((path) => `podSelector.matchExpressions[0]${path}`),
  );
}

describeRows("Kubernetes policies", [
  policy({}),
  policy({ podSelector: {}, policyTypes: ["Ingress", "Egress"], ingress: [{}], egress: [] }),
  // An API server lets in what is said twice.
  policy({ policyTypes: ["Ingress", "Ingress"] }),
  policy({ policyTypes: ["ingress"] }, "policyTypes[0]"),
  policy({ ingres: [] }, "ingres"),
  policy({ ingress: [{ to: [] }] }, "ingress[0].to"),
  policy({ podSelector: { matchLabels: { a: "not a value" } } }, "podSelector.matchLabels.a"),
  policy({ podSelector: { matchLabels: { "a.b/c": 1 } } }, "podSelector.matchLabels[a.b/c]"),
  policy({ podSelector: { labels: {} } }, "podSelector.labels"),
  expression({ operator: "In", values: ["b"] }),
  expression({ operator: "Exists" }),
  expression({ operator: "In" }, ".values"),
  expression({ operator: "NotIn", values: [] }, ".values"),
  expression({ operator: "DoesNotExist", values: ["b"] }, ".values"),
  expression({ operator: "Gt", values: ["1"] }, ".operator"),
  expression({}, ".operator"),
  expression({ key: "", operator: "Exists" }, ".key"),
  peer({ podSelector: {} }),
  peer({ podSelector: {}, namespaceSelector: {} }),
  peer({ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }),
  peer({}, ""),
  peer(null, ""),
  peer({ nodeSelector: {} }, ".nodeSelector", ""),
  peer({ podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }, ""),
  peer({ ipBlock: {} }, ".ipBlock.cidr"),
  peer({ ipBlock: { cidr: "/55" } }, ".ipBlock.cidr"),
  peer({ ipBlock: { cidr: "10.0.0.1" } }, ".ipBlock.cidr"),
  peer({ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] } }, ".ipBlock.except[0]"),
  peer({ ipBlock: { cidr: "10.0.0.0/8", except: ["10.0.0.0/8"] } }, ".ipBlock.except[0]"),
  peer({ ipBlock: { cidr: "10.0.0.0/8", except: ["x"] } }, ".ipBlock.except[0]"),
  port({}),
  port({ port: 80 }),
  port({ protocol: "SCTP", port: "serve-80-sctp" }),
  port({ port: 80, endPort: 90 }),
  port({ port: "-50:-1" }, ".port"),
  port({ port: 0 }, ".port"),
  port({ port: 65_536 }, ".port"),
  port({ protocol: "tcp", port: 80 }, ".protocol"),
  port({ port: 80, endPort: 79 }, ".endPort"),
  port({ port: "http", endPort: 90 }, ".endPort"),
  port({ endPort: 90 }, ".endPort"),
]);

function cluster(spec: object, ...paths: string[]): Row {
  const good = { tier: "Admin", priority: 5, subject: { namespaces: {} } };
  return [made("ClusterNetworkPolicy", { ...good, ...spec }), ...paths.map((path) => `spec.${path}`)];
}

describeRows("cluster network policies", [
  cluster({}),
  cluster({ tier: "bogus" }, "tier"),
  cluster({ priority: 1001 }, "priority"),
  cluster({ subject: {} }, "subject"),
  cluster({ subject: { namespaces: {}, pods: {} } }, "subject"),
  cluster({ ingress: [{ action: "Accept", from: [{ pods: { namespaceSelector: {}, podSelector: {} } }] }] }),
  cluster({ ingress: [{ action: "Log", from: [{ namespaces: {} }] }] }, "ingress[0].action"),
  cluster({ ingress: [{ action: "Deny", from: [] }] }, "ingress[0].from"),
  cluster({ egress: [{ action: "Deny", to: [{ networks: ["0.0.0.0/0"] }] }] }),
  cluster({ egress: [{ action: "Deny", to: [{ networks: ["x"] }] }] }, "egress[0].to[0].networks[0]"),
  cluster({ egress: [{ action: "Deny", to: [{ networks: [] }] }] }, "egress[0].to[0].networks"),
  cluster({ egress: [{ action: "Deny", to: [{ domainNames: ["a"] }] }] }),
  cluster(
    {
      egress: [
        {
          action: "Deny",
          to: [{ namespaces: {} }],
          protocols: [{ udp: { destinationPort: { range: { start: 1, end: 2, step: 3 } } } }],
        },
      ],
    },
    "egress[0].protocols[0].udp.destinationPort.range.step",
  ),
  cluster(
    {
      egress: [
        {
          action: "Deny",
          to: [{ namespaces: {} }],
          protocols: [{ tcp: { destinationPort: { range: { start: 40, end: 20 } } } }],
        },
      ],
    },
    "egress[0].protocols[0].tcp.destinationPort.range",
  ),
]);

describeRows("Kubernetes' own kinds", [
  [
    made(
      "Pod",
      { nodeName: "n", containers: [{ ports: [{ name: "http", containerPort: 80 }] }] },
      { status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] } },
    ),
  ],
  [made("Pod", { containers: [{ ports: [{ containerPort: 0 }] }] }), "spec.containers[0].ports[0].containerPort"],
  [
    made("Pod", { initContainers: [{ ports: [{ containerPort: 80, protocol: "HTTP" }] }] }),
    "spec.initContainers[0].ports[0].protocol",
  ],
  [made("Pod", { hostNetwork: "true" }), "spec.hostNetwork"],
  [made("Pod", {}, { status: { podIPs: [{ ip: "x" }] } }), "status.podIPs[0].ip"],
  [made("KubernetesNode", { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"] })],
  [made("KubernetesNode", { podCIDRs: ["x"] }), "spec.podCIDRs[0]"],
  [
    made("KubernetesNode", {}, { status: { addresses: [{ type: "InternalIP", address: "host" }] } }),
    "status.addresses[0].address",
  ],
  [made("KubernetesNode", {}, { status: { addresses: [{ type: "Hostname", address: "host" }] } })],
  [made("Service", { clusterIPs: ["None"], ports: [{ port: 80, targetPort: "http" }] })],
  [made("Service", { ports: [{ port: 0 }] }), "spec.ports[0].port"],
  [made("Service", { clusterIPs: ["x"] }), "spec.clusterIPs[0]"],
  [
    made("EndpointSlice", undefined, {
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.0.0.1"] }],
      ports: [{ name: "", port: 80, protocol: "TCP" }],
    }),
  ],
  [
    made("EndpointSlice", undefined, { addressType: "IPv4", endpoints: [{ addresses: ["fd00::1"] }] }),
    "endpoints[0].addresses[0]",
  ],
  [made("EndpointSlice", undefined, { endpoints: [] }), "addressType"],
]);
