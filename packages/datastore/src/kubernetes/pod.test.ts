import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodResource, PodSpec, PodStatus, WorkloadEndpointSpec } from "@bulrush/model";
import { workloadEndpointProcessor } from "../process/workload-endpoint-processor.ts";
import { convertPod, isFinishedPod, isVisiblePod, podEndpointName } from "./pod.ts";

interface PodParts {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly metadata?: object;
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

const CNI = "cni.projectcalico.org/";
const QOS = "qos.projectcalico.org/";

function pod({ annotations = {}, metadata = {}, spec = {}, status = {} }: PodParts): PodResource {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web-1", namespace: "shop", annotations, ...metadata },
    spec: { nodeName: "node-1", serviceAccountName: "sa", ...spec },
    status,
  };
}

function specOf(parts: PodParts): WorkloadEndpointSpec {
  const { resource, issues } = convertPod(pod(parts));
  assert.ok(resource?.spec, JSON.stringify(issues));
  return resource.spec;
}

function labelsOf(parts: PodParts): ReadonlyMap<string, string> {
  const value = v1Of(parts);
  assert.ok(value);
  return value["labels"] as ReadonlyMap<string, string>;
}

/** The v1 value, or undefined where there is no endpoint. */
function v1Of(parts: PodParts): Record<string, unknown> | undefined {
  const { resource, issues } = convertPod(pod(parts));
  const item = { kind: "WorkloadEndpoint", namespace: "shop", name: podEndpointName(pod(parts)) } as const;
  const [output] = workloadEndpointProcessor().process({ item, value: resource, revision: "1", issues }).outputs;
  assert.equal(output?.key.type, "WorkloadEndpoint");
  return output.value as Record<string, unknown> | undefined;
}

const DELETED = { deletionTimestamp: "2026-01-01T00:00:00Z" };

const ADDRESSES: readonly (readonly [what: string, parts: PodParts, want: readonly string[]])[] = [
  ["the pod's address", { status: { podIP: "192.168.0.1" } }, ["192.168.0.1/32"]],
  [
    "the annotation's addresses",
    { annotations: { [`${CNI}podIPs`]: "192.168.0.1/32,fd5f:8067::1/128" } },
    ["192.168.0.1/32", "fd5f:8067::1/128"],
  ],
  ["the one annotation address", { annotations: { [`${CNI}podIP`]: "10.0.0.1/32" } }, ["10.0.0.1/32"]],
  ["the AWS addresses", { annotations: { "vpc.amazonaws.com/pod-ips": "10.0.0.9" } }, ["10.0.0.9/32"]],
  [
    "the status before the annotation",
    { annotations: { [`${CNI}podIP`]: "10.0.0.1/32" }, status: { podIP: "10.0.0.2" } },
    ["10.0.0.2/32"],
  ],
  [
    "podIPs before podIP",
    { status: { podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.3" }, { ip: "fd00::3" }] } },
    ["10.0.0.3/32", "fd00::3/128"],
  ],
  [
    "none when terminating and released",
    { annotations: { [`${CNI}podIP`]: "" }, metadata: DELETED, status: { podIP: "10.0.0.2" } },
    [],
  ],
  ["the address when terminating", { metadata: DELETED, status: { podIP: "10.0.0.2" } }, ["10.0.0.2/32"]],
  ["none when Succeeded", { status: { podIP: "10.0.0.2", phase: "Succeeded" } }, []],
  ["none when Failed", { status: { podIP: "10.0.0.2", phase: "Failed" } }, []],
  ["none when Completed", { status: { podIP: "10.0.0.2", phase: "Completed" } }, []],
  ["the address when Pending", { status: { podIP: "10.0.0.2", phase: "Pending" } }, ["10.0.0.2/32"]],
  ["the address when Unknown", { status: { podIP: "10.0.0.2", phase: "Unknown" } }, ["10.0.0.2/32"]],
  ["none when only scheduled", {}, []],
];

for (const [what, parts, want] of ADDRESSES) {
  test(`convertPod() takes ${what}`, () => {
    assert.deepEqual(specOf(parts).ipNetworks, want);
    assert.equal(v1Of(parts) === undefined, want.length === 0);
  });
}

test("isVisiblePod() wants a node and a network of the pod's own, whatever the phase", () => {
  assert.ok(isVisiblePod(pod({ status: { phase: "Failed" } })));
  assert.ok(!isVisiblePod(pod({ spec: { nodeName: "" } })));
  assert.ok(!isVisiblePod(pod({ spec: { hostNetwork: true } })));
});

test("isFinishedPod() ignores a blank address of a pod that is not being deleted", () => {
  assert.ok(!isFinishedPod(pod({ annotations: { [`${CNI}podIP`]: "" } })));
});

test("convertPod() makes the whole endpoint", () => {
  const { resource, issues } = convertPod(
    pod({
      annotations: { [`${CNI}containerID`]: "abc", "k8s.v1.cni.cncf.io/network-status": "[]", other: "x" },
      metadata: { uid: "u", labels: { app: "web" }, generateName: "web-" },
      status: { podIP: "10.0.0.1" },
    }),
  );
  assert.deepEqual(issues, []);
  assert.deepEqual(resource, {
    apiVersion: "projectcalico.org/v3",
    kind: "WorkloadEndpoint",
    metadata: {
      name: "node--1-k8s-web--1-eth0",
      namespace: "shop",
      generateName: "web-",
      uid: "u",
      labels: {
        app: "web",
        "projectcalico.org/namespace": "shop",
        "projectcalico.org/orchestrator": "k8s",
        "projectcalico.org/serviceaccount": "sa",
      },
      annotations: { [`${CNI}containerID`]: "abc", "k8s.v1.cni.cncf.io/network-status": "[]" },
    },
    spec: {
      orchestrator: "k8s",
      node: "node-1",
      pod: "web-1",
      endpoint: "eth0",
      // sha1("shop.web-1") begins 751425ce827.
      interfaceName: "cali751425ce827",
      profiles: ["kns.shop", "ksa.shop.sa"],
      ipNetworks: ["10.0.0.1/32"],
      containerID: "abc",
      serviceAccountName: "sa",
    },
  });
});

const POD_IP: PodStatus = { podIP: "10.0.0.1" };

test("convertPod() keeps ports with a name or on the host; v1 has only the named ones", () => {
  const ports = [
    { containerPort: 1234 },
    { containerPort: 5000, hostPort: 5000 },
    { containerPort: 80, name: "http" },
    { containerPort: 0, name: "none" },
    { containerPort: 81, name: "odd", protocol: "ICMP" },
  ];
  const parts: PodParts = {
    status: POD_IP,
    spec: {
      containers: [{ ports }],
      initContainers: [{ ports: [{ containerPort: 90, name: "init", protocol: "SCTP" }] }],
    },
  };
  assert.deepEqual(specOf(parts).ports, [
    { protocol: "TCP", port: 5000, hostPort: 5000 },
    { name: "http", protocol: "TCP", port: 80 },
    { name: "init", protocol: "SCTP", port: 90 },
  ]);
  assert.deepEqual(v1Of(parts)?.["ports"], [
    { name: "http", protocol: "tcp", port: 80 },
    { name: "init", protocol: "sctp", port: 90 },
  ]);
});

test("convertPod() maps floating addresses by family", () => {
  const parts: PodParts = {
    annotations: { [`${CNI}floatingIPs`]: '["1.1.1.1","fd80:100:100::10"]' },
    status: { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] },
  };
  assert.deepEqual(specOf(parts).ipNATs, [
    { internalIP: "10.0.0.1", externalIP: "1.1.1.1" },
    { internalIP: "fd00::1", externalIP: "fd80:100:100::10" },
  ]);
  assert.deepEqual(v1Of(parts)?.["ipv6_nat"], [{ int_ip: "fd00::1", ext_ip: "fd80:100:100::10" }]);
});

test("convertPod() masks the allowed source prefixes", () => {
  const parts: PodParts = { annotations: { [`${CNI}allowedSourcePrefixes`]: '["1.1.1.1/16"]' }, status: POD_IP };
  assert.deepEqual(specOf(parts).allowSpoofedSourcePrefixes, ["1.1.0.0/16"]);
});

for (const [what, parts] of [
  ["an empty source prefix", { annotations: { [`${CNI}allowedSourcePrefixes`]: '[""]' }, status: POD_IP }],
  ["a source prefix that is none", { annotations: { [`${CNI}allowedSourcePrefixes`]: '["gumbo"]' }, status: POD_IP }],
  ["a network in place of an address", { annotations: { [`${CNI}podIPs`]: "10.0.0.0/24" } }],
  ["an address that is none, among others", { status: { podIPs: [{ ip: "10.0.0.1" }, { ip: "x" }] } }],
  ["floating addresses that are no JSON", { annotations: { [`${CNI}floatingIPs`]: "1.1.1.1" }, status: POD_IP }],
  ["an address that is none", { status: { podIP: "10.0.0.300" } }],
  ["a name that no endpoint can have", { metadata: { name: "web-" }, status: POD_IP }],
] as const) {
  test(`convertPod() refuses ${what}`, () => {
    const { resource, issues } = convertPod(pod(parts));
    assert.equal(resource, undefined);
    assert.equal(issues.length, 1);
    assert.equal(issues[0]?.severity, "error");
  });
}

test("convertPod() leaves a service account that is no label value to v1", () => {
  const serviceAccountName = "a".repeat(63);
  const parts: PodParts = { spec: { serviceAccountName }, status: POD_IP };
  const label = "projectcalico.org/serviceaccount";
  assert.equal(convertPod(pod(parts)).resource?.metadata.labels?.[label], undefined);
  assert.equal(labelsOf(parts).get(label), serviceAccountName);
});

test("isFinishedPod() takes a deletion timestamp of null for none", () => {
  const annotations = { [`${CNI}podIP`]: "" };
  assert.equal(isFinishedPod(pod({ annotations, metadata: { deletionTimestamp: null } })), false);
  assert.equal(isFinishedPod(pod({ annotations, metadata: DELETED })), true);
});

test("an endpoint keeps a port whose name no rule can have", () => {
  const containers = [
    {
      ports: [
        { name: "My_Port", containerPort: 80 },
        { name: "ok", containerPort: 81 },
      ],
    },
  ];
  assert.deepEqual(v1Of({ spec: { containers }, status: POD_IP })?.["ports"], [
    { name: "My_Port", protocol: "tcp", port: 80 },
    { name: "ok", protocol: "tcp", port: 81 },
  ]);
});

test("a pod cannot give itself the labels of its profiles", () => {
  const parts: PodParts = { metadata: { labels: { "pcns.env": "prod", "pcsa.x": "y", app: "web" } }, status: POD_IP };
  const labels = labelsOf(parts);
  assert.deepEqual(
    [...labels.keys()].sort(),
    ["app", "projectcalico.org/namespace", "projectcalico.org/orchestrator", "projectcalico.org/serviceaccount"].sort(),
  );
});

const QOS_ROWS: readonly (readonly [annotations: Readonly<Record<string, string>>, control: string, want: unknown])[] =
  [
    [{ ingressBandwidth: "1" }, "ingressBandwidth", 1000],
    [{ egressBandwidth: "20P" }, "egressBandwidth", 1e15],
    [{ ingressBandwidth: "1k", ingressPeakrate: "5" }, "ingressPeakrate", 1010],
    [{ ingressBandwidth: "1M", ingressPeakrate: "1k" }, "ingressPeakrate", undefined],
    [{ egressBandwidth: "1k", egressPeakrate: "2k", egressMinburst: "8Gi" }, "egressMinburst", 1e8],
    [{ egressBandwidth: "1k", egressMinburst: "8Gi" }, "egressMinburst", undefined],
    [{ ingressBandwidth: "1M" }, "ingressBurst", 4 * 1024 ** 3],
    [{ ingressPacketRate: "0" }, "ingressPacketRate", 1],
    [{ ingressPacketRate: "60P" }, "ingressPacketRate", 10_000],
    [{ ingressPacketRate: "7" }, "ingressPacketBurst", 5],
    [{ ingressPacketBurst: "7" }, "ingressPacketBurst", undefined],
    [{ egressMaxConnections: "80P" }, "egressMaxConnections", 4_294_967_295],
    [{ dscp: "AF41" }, "dscp", 34],
    [{ dscp: "cs6" }, "dscp", 48],
    [{ dscp: "63" }, "dscp", 63],
    [{ dscp: "64" }, "dscp", undefined],
  ];

for (const [annotations, control, want] of QOS_ROWS) {
  test(`convertPod() reads QoS ${JSON.stringify(annotations)} as ${control} ${String(want)}`, () => {
    const prefixed = Object.fromEntries(Object.entries(annotations).map(([name, value]) => [QOS + name, value]));
    assert.equal(specOf({ annotations: prefixed, status: POD_IP }).qosControls?.[control], want);
  });
}

test("convertPod() prefers its own bandwidth to that of Kubernetes", () => {
  const kubernetes = { "kubernetes.io/ingress-bandwidth": "10M" };
  const own = { [`${QOS}ingressBandwidth`]: "20M" };
  assert.equal(specOf({ annotations: kubernetes }).qosControls?.["ingressBandwidth"], 1e7);
  assert.equal(specOf({ annotations: { ...kubernetes, ...own } }).qosControls?.["ingressBandwidth"], 2e7);
});
