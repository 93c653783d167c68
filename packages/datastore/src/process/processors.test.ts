import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@bulrush/model";
import { type Stored, processor, run, kvs, convert } from "./processor-harness.ts";

test("Tier: order and default action", () => {
  const path = "/calico/v1/policy/tier/t/metadata";
  const of = (spec: unknown): unknown => convert("Tier", "t", { spec })[path];
  assert.deepEqual(of({ order: 3, defaultAction: "Pass" }), { order: 3, defaultAction: "Pass" });
  assert.deepEqual(of({ order: 3 }), { order: 3, defaultAction: "Deny" });
  assert.deepEqual(of({}), { defaultAction: "Deny" });
});

test("Tier: what is unreadable denies and comes last", () => {
  const result = run(processor("Tier"), "Tier", "t", { spec: { order: "first", defaultAction: "Accept" } });
  assert.ok(result.isClosedForm);
  assert.deepEqual(kvs(result), { "/calico/v1/policy/tier/t/metadata": { defaultAction: "Deny" } });
  assert.deepEqual(
    result.issues.map((issue) => issue.field),
    ["spec.order", "spec.defaultAction"],
  );
});

test("Profile: rules, labels and the resource; no labels, no key", () => {
  const spec = { ingress: [{ action: "Allow" }], labelsToApply: { b: "2", a: "1" } };
  const out = convert("Profile", "a/b", { spec });
  assert.deepEqual(out["/calico/v1/policy/profile/a%2fb/rules"], {
    inbound_rules: [{ action: "allow" }],
    outbound_rules: [],
  });
  assert.deepEqual(out["/calico/v1/policy/profile/a%2fb/labels"], { a: "1", b: "2" });
  assert.deepEqual((out["/calico/resources/v3/projectcalico.org/profiles/a/b"] as Resource).spec, spec);
  const bare = convert("Profile", "p", { spec: {} });
  assert.deepEqual(bare["/calico/v1/policy/profile/p/rules"], { inbound_rules: [], outbound_rules: [] });
  assert.equal(bare["/calico/v1/policy/profile/p/labels"], undefined);
});

test("Profile: one that cannot be read has no values, and is told from one that is gone", () => {
  const result = run(processor("Profile"), "Profile", "p", { spec: { ingress: [{ action: "Allow", nets: ["x"] }] } });
  assert.equal(result.issues.length, 1);
  assert.deepEqual(Object.values(kvs(result)), [undefined, undefined, undefined]);
  assert.ok(result.outputs.every(({ isUnreadable }) => isUnreadable === true));
  const gone = run(processor("Profile"), "Profile", "p", undefined);
  assert.ok(gone.outputs.every(({ isUnreadable }) => isUnreadable === undefined));
});

test("NetworkSet: masked nets, namespace label and profile; without bad nets, while it was never read well", () => {
  const result = run(processor("NetworkSet"), "NetworkSet", "s", {
    namespace: "ns",
    labels: { a: "b" },
    spec: { nets: ["10.2402.0.0/16", "1.2.3.4/24", "::1"] },
  });
  assert.deepEqual(kvs(result), {
    "/calico/v1/netset/ns%2fs": {
      nets: ["1.2.3.0/24", "::1/128"],
      labels: { a: "b", "projectcalico.org/namespace": "ns" },
      profile_ids: ["kns.ns"],
    },
  });
  assert.deepEqual(
    result.issues.map(({ severity, field }) => [severity, field]),
    [["error", "spec.nets[0]"]],
  );
  assert.deepEqual([result.isClosedForm, result.effect], [true, "left out"]);
});

test("GlobalNetworkSet: nets and labels", () => {
  const out = convert("GlobalNetworkSet", "s", { labels: { a: "b" }, spec: { nets: ["10.0.0.0/8"] } });
  assert.deepEqual(out, { "/calico/v1/netset/s": { nets: ["10.0.0.0/8"], labels: { a: "b" } } });
});

test("IPPool: every field", () => {
  const spec = { cidr: "10.0.0.1/16", ipipMode: "CrossSubnet", vxlanMode: "Never", natOutgoing: true, disabled: true };
  assert.deepEqual(convert("IPPool", "p", { spec }), {
    "/calico/v1/ipam/v4/pool/10.0.0.0-16": {
      cidr: "10.0.0.0/16",
      ipip: "tunl0",
      ipip_mode: "cross-subnet",
      vxlan_mode: "",
      masquerade: true,
      ipam: false,
      disabled: true,
      disableBGPExport: false,
      assignment_mode: "Automatic",
      allowed_uses: [],
    },
  });
  const [v6] = Object.values(convert("IPPool", "p", { spec: { cidr: "fd00::/48", vxlanMode: "Always" } }));
  assert.deepEqual([(v6 as { ipip: string }).ipip, (v6 as { vxlan_mode: string }).vxlan_mode], ["", "always"]);
});

/** The names of the pools that were sent for each step; null for a delete. */
function poolSteps(steps: readonly (readonly [name: string, cidr: string | undefined])[]): unknown[] {
  const on = processor("IPPool");
  return steps.flatMap(([name, cidr]) => {
    const state = cidr === undefined ? undefined : { spec: { cidr, allowedUses: [] }, revision: `r-${name}` };
    return run(on, "IPPool", name, state).outputs.map(({ value, origin }) =>
      value === undefined ? null : origin?.name,
    );
  });
}

test("IPPool: of two with one CIDR the lower name counts", () => {
  const C = "10.0.0.0/16";
  assert.deepEqual(
    poolSteps([
      ["b", C],
      ["a", C],
      ["a", undefined],
    ]),
    ["b", "a", "b"],
  );
  assert.deepEqual(
    poolSteps([
      ["a", C],
      ["b", C],
    ]),
    ["a"],
  );
  assert.deepEqual(
    poolSteps([
      ["a", C],
      ["b", C],
      ["b", undefined],
      ["a", undefined],
    ]),
    ["a", null],
  );
  assert.deepEqual(
    poolSteps([
      ["a", C],
      ["a", "10.1.0.0/16"],
    ]),
    ["a", null, "a"],
  );
  assert.deepEqual(
    poolSteps([
      ["a", C],
      ["b", C],
      ["a", "bad"],
    ]),
    ["a", "b"],
  );
});

for (const [kind, good, bad] of [
  ["IPPool", { cidr: "10.0.0.0/16" }, { cidr: "10.0.0.0/99" }],
  ["HostEndpoint", { node: "n", interfaceName: "eth0" }, { interfaceName: "eth0" }],
] as const) {
  test(`${kind}: one that cannot be read any more keeps its key, until it is gone or readable`, () => {
    const on = processor(kind);
    const step = (spec: object | undefined): unknown[] =>
      run(on, kind, "a", spec === undefined ? undefined : { spec }).outputs.map(({ value, isUnreadable }) =>
        isUnreadable === true ? "kept" : value === undefined ? "gone" : "sent",
      );
    assert.deepEqual(
      [good, bad, bad, good, bad, undefined].map((spec) => step(spec)),
      [["sent"], ["kept"], ["kept"], ["sent"], ["kept"], ["gone"]],
    );
    assert.deepEqual(step(bad), []);
  });
}

for (const kind of ["IPPool", "HostEndpoint"] as const) {
  test(`${kind}: a delete of what is not known any more is an error and sends nothing`, () => {
    const on = processor(kind);
    run(on, kind, "a", { spec: { cidr: "10.0.0.0/16", node: "n", interfaceName: "eth0" } });
    on.onSyncerStarting();
    const { outputs, issues } = run(on, kind, "a", undefined);
    assert.deepEqual([outputs, issues.map((issue) => issue.severity)], [[], ["error"]]);
  });
}

test("HostEndpoint: addresses by family, all ports, DSCP", () => {
  const result = run(processor("HostEndpoint"), "HostEndpoint", "eth", {
    labels: { a: "b" },
    annotations: { "qos.projectcalico.org/dscp": "EF" },
    spec: {
      node: "node-1",
      interfaceName: "*",
      expectedIPs: ["10.0.0.1", "fd00::1", "nope"],
      profiles: ["p"],
      ports: [{ name: "ssh", protocol: "TCP", port: 22 }],
    },
  });
  assert.deepEqual(kvs(result), {
    "/calico/v1/host/node-1/endpoint/eth": {
      name: "*",
      expected_ipv4_addrs: ["10.0.0.1"],
      expected_ipv6_addrs: ["fd00::1"],
      labels: { a: "b" },
      profile_ids: ["p"],
      ports: [{ name: "ssh", protocol: "tcp", port: 22 }],
      qosControls: { dscp: 46 },
    },
  });
  assert.deepEqual(
    result.issues.map((issue) => issue.field),
    ["spec.expectedIPs[2]"],
  );
});

test("HostEndpoint: what is wrong with its profiles, ports and addresses is left out and named", () => {
  const result = run(processor("HostEndpoint"), "HostEndpoint", "eth", {
    spec: {
      node: "n",
      interfaceName: "eth0",
      expectedIPs: "10.0.0.1",
      profiles: ["p", "a/b", 5],
      ports: [
        { name: "a b", protocol: "TCP", port: 22 },
        { name: "six", protocol: 6, port: 22 },
        { name: "icmp", protocol: "ICMP", port: 22 },
        { name: "range", protocol: "TCP", port: "1:2" },
        { name: "SSH_x", protocol: "sctp", port: "22" },
      ],
    },
  });
  assert.deepEqual(kvs(result), {
    "/calico/v1/host/n/endpoint/eth": {
      name: "eth0",
      expected_ipv4_addrs: [],
      expected_ipv6_addrs: [],
      labels: {},
      profile_ids: ["p"],
      ports: [{ name: "SSH_x", protocol: "sctp", port: 22 }],
    },
  });
  assert.deepEqual(
    result.issues.map(({ severity, field }) => `${severity} ${field}`),
    [
      "error spec.expectedIPs",
      "error spec.ports[0]",
      "error spec.ports[1]",
      "error spec.ports[2]",
      "error spec.ports[3]",
      "warning spec.profiles[1]",
      "warning spec.profiles[2]",
    ],
  );
});

const DURATIONS: readonly (readonly [field: string, value: unknown, path: string, want: string | undefined])[] = [
  ["iptablesRefreshInterval", "12.345s", "IptablesRefreshInterval", "12.345"],
  ["reportingInterval", "0s", "ReportingIntervalSecs", "0"],
  ["netlinkTimeout", "100ms", "NetlinkTimeoutSecs", "0.1"],
  ["iptablesLockProbeInterval", "54.321ms", "IptablesLockProbeIntervalMillis", "54.321"],
  ["routeRefreshInterval", "1m30s", "RouteRefreshInterval", "90"],
  ["ipipEnabled", true, "IpInIpEnabled", "true"],
  ["ipipMTU", 1480, "IpInIpMtu", "1480"],
  ["ipv6Support", false, "Ipv6Support", "false"],
  ["bpfEnabled", true, "BPFEnabled", "true"],
  ["vxlanVNI", 4096, "VXLANVNI", "4096"],
  ["nftablesMode", "Enabled", "NFTablesMode", "Enabled"],
  ["natPortRange", "32768:65535", "NATPortRange", "32768:65535"],
  ["logSeverityScreen", "", "LogSeverityScreen", undefined],
  ["externalNodesList", ["1.1.1.1", "2.2.2.0/24"], "ExternalNodesCIDRList", "1.1.1.1,2.2.2.0/24"],
  ["kubeNodePortRanges", ["30000:32767", 80], "KubeNodePortRanges", "30000:32767,80"],
  ["failsafeInboundHostPorts", [], "FailsafeInboundHostPorts", "none"],
  [
    "failsafeInboundHostPorts",
    [
      { protocol: "TCP", port: 1234, net: "0.0.0.0/0" },
      { protocol: "UDP", port: 22, net: "0.0.0.0/0" },
    ],
    "FailsafeInboundHostPorts",
    "tcp:0.0.0.0/0:1234,udp:0.0.0.0/0:22",
  ],
  [
    "failsafeOutboundHostPorts",
    [
      { protocol: "tcp", port: 1 },
      { protocol: "udp", port: 53, net: "fd00::/8" },
    ],
    "FailsafeOutboundHostPorts",
    "tcp:1,udp:[fd00::/8]:53",
  ],
  ["failsafeInboundHostPorts", [{ protocol: "tcp", port: 1, net: "nope" }], "FailsafeInboundHostPorts", undefined],
  ["routeTableRange", { min: 1, max: 250 }, "RouteTableRange", "1-250"],
  [
    "routeTableRanges",
    [
      { min: 43, max: 211 },
      { min: 300, max: 301 },
    ],
    "RouteTableRanges",
    "43-211,300-301",
  ],
  [
    "healthTimeoutOverrides",
    [
      { name: "A", timeout: "20s" },
      { name: "B", timeout: "1m0s" },
    ],
    "HealthTimeoutOverrides",
    "A=20s,B=1m0s",
  ],
  ["healthTimeoutOverrides", [], "HealthTimeoutOverrides", undefined],
  [
    "bpfConntrackTimeouts",
    { creationGracePeriod: "10s", tcpFinsSeen: "30s" },
    "BPFConntrackTimeouts",
    "CreationGracePeriod=10s,TCPFinsSeen=30s",
  ],
  ["someMap", { b: "2", a: "1" }, "SomeMap", "a=1,b=2,"],
];

for (const [field, value, name, want] of DURATIONS) {
  test(`FelixConfiguration: ${field} ${JSON.stringify(value)} is ${name}=${String(want)}`, () => {
    const out = convert("FelixConfiguration", "default", { spec: { [field]: value } });
    assert.deepEqual(out, { [`/calico/v1/config/${name}`]: want });
    const ofHost = convert("FelixConfiguration", "node.h1", { spec: { [field]: value } });
    assert.deepEqual(ofHost, { [`/calico/v1/host/h1/config/${name}`]: want });
  });
}

test("FelixConfiguration: annotations override, add, and are taken back; so are fields", () => {
  const on = processor("FelixConfiguration");
  const X = "/calico/v1/config/X";
  const log = "/calico/v1/config/LogSeverityScreen";
  const step = (state: Stored | undefined): unknown => kvs(run(on, "FelixConfiguration", "default", state));
  const annotations = { "config.projectcalico.org/X": "1", "config.projectcalico.org/LogSeverityScreen": "Debug" };
  assert.deepEqual(step({ spec: { logSeverityScreen: "Info" }, annotations }), { [X]: "1", [log]: "Debug" });
  assert.deepEqual(step({ spec: { logSeverityScreen: "Info" } }), { [X]: undefined, [log]: "Info" });
  assert.deepEqual(step({ spec: {} }), { [log]: undefined });
  assert.deepEqual(step(undefined), {});
});

test("FelixConfiguration: one for some nodes travels as it is", () => {
  const spec = { nodeSelector: "has(x)", bpfEnabled: true };
  const out = convert("FelixConfiguration", "rack-1", { spec });
  const path = "/calico/resources/v3/projectcalico.org/felixconfigurations/rack-1";
  assert.deepEqual(Object.keys(out), [path]);
  assert.deepEqual((out[path] as Resource).spec, spec);
});

const CLUSTER = {
  clusterGUID: "g",
  clusterType: "k8s",
  calicoVersion: "v3.32.0",
  variant: "Calico",
  datastoreReady: true,
};

test("ClusterInformation: five keys, four for a host", () => {
  assert.deepEqual(convert("ClusterInformation", "default", { spec: CLUSTER }), {
    "/calico/v1/config/ClusterGUID": "g",
    "/calico/v1/config/ClusterType": "k8s",
    "/calico/v1/config/CalicoVersion": "v3.32.0",
    "/calico/v1/config/Variant": "Calico",
    "/calico/v1/Ready": true,
  });
  assert.equal(Object.keys(convert("ClusterInformation", "node.x", { spec: CLUSTER })).length, 4);
  assert.equal(
    convert("ClusterInformation", "default", { spec: { datastoreReady: false } })["/calico/v1/Ready"],
    false,
  );
});

test("WorkloadEndpoint: something of a shape that no check foresaw is an error, not a throw", () => {
  const result = run(processor("WorkloadEndpoint"), "WorkloadEndpoint", "n-k8s-p-eth0", {
    namespace: "ns",
    spec: { ipNetworks: "10.0.0.1" },
  });
  assert.deepEqual(kvs(result), { "/calico/v1/host/n/workload/k8s/ns%2fp/endpoint/eth0": undefined });
  assert.equal(result.issues[0]?.severity, "error");
});

test("WorkloadEndpoint: bounds of QoS that the kernel would refuse are clamped or left out, and DSCP has its names", () => {
  for (const [controls, wanted, warned] of [
    [{ ingressPacketRate: 10, dscp: 46 }, { ingressPacketRate: 10, dscp: 46 }, []],
    [{ dscp: "AF41" }, { dscp: 34 }, []],
    [{ dscp: 64, egressMaxConnections: 0, egressBandwidth: null }, undefined, ["dscp"]],
    [{ egressPacketRate: 1.5, ingressPacketBurst: 0.5 }, { egressPacketRate: 1, ingressPacketBurst: 1 }, [0, 1]],
    [
      { ingressPacketRate: 1e18, ingressMaxConnections: -1, egressMaxConnections: 2 ** 32 },
      { ingressPacketRate: 1e4, ingressMaxConnections: 1, egressMaxConnections: 2 ** 32 - 1 },
      [0, 1, 2],
    ],
    [{ ingressBandwidth: "10M", sideways: 5 }, undefined, ["ingressBandwidth"]],
    [[], undefined, [""]],
    ["fast", undefined, [""]],
  ] as const) {
    const spec = { ipNetworks: ["10.0.0.1/32"], interfaceName: "cali1", qosControls: controls };
    const result = run(processor("WorkloadEndpoint"), "WorkloadEndpoint", "n-k8s-p-eth0", { namespace: "ns", spec });
    const [endpoint] = Object.values(kvs(result)) as { readonly qosControls?: unknown }[];
    assert.deepEqual(endpoint?.qosControls, wanted);
    const fields = warned.map((field) => (typeof field === "number" ? Object.keys(controls)[field] : field));
    assert.deepEqual(
      result.issues.map(({ severity, field }) => [severity, field]),
      fields.map((field) => ["warning", `spec.qosControls${field === "" ? "" : `.${field}`}`]),
    );
  }
});

test("raw kinds travel as they are, under their own kind", () => {
  const service = convert("KubernetesService", "s", { namespace: "ns", spec: { clusterIP: "10.0.0.1" } });
  assert.deepEqual(Object.keys(service), ["/calico/resources/v3/projectcalico.org/kubernetesservices/ns/s"]);
  const peer = convert("BGPPeer", "p", { spec: { peerIP: "10.0.0.1", asNumber: 64512 } });
  assert.deepEqual(Object.keys(peer), ["/calico/resources/v3/projectcalico.org/bgppeers/p"]);
});

test("IPAMBlock: keyed by the CIDR in its name", () => {
  const spec = { cidr: "10.0.128.0/17", allocations: [], unallocated: [], attributes: [], affinity: "host:n" };
  const out = convert("IPAMBlock", "10-0-128-0-17", { spec });
  assert.deepEqual(out, { "/calico/ipam/v2/assignment/ipv4/block/10.0.128.0-17": spec });
});
