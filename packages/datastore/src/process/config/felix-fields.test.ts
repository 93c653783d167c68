import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CALICO_V3, FELIX_FIELDS, type FelixForm, formatKey, type Resource } from "@bulrush/model";
import type { ProcessedKV, UpdateProcessor } from "../processor.ts";
import { clusterInformationProcessor, felixConfigurationProcessor } from "./config-processor.ts";

function send(on: UpdateProcessor, kind: "FelixConfiguration" | "ClusterInformation", name: string, spec: unknown) {
  const metadata = { name };
  const value: Resource | undefined = spec === undefined ? undefined : { apiVersion: CALICO_V3, kind, metadata, spec };
  return on.process({ item: { kind, namespace: "", name }, value, revision: "1" });
}

function texts(outputs: readonly ProcessedKV[]): Record<string, unknown> {
  return Object.fromEntries(outputs.map(({ key, value }) => [formatKey(key), value]));
}

/** Names that a capital at the beginning does not make. */
const IRREGULAR: Readonly<Record<string, string>> = {
  ipv6Support: "Ipv6Support",
  ipipEnabled: "IpInIpEnabled",
  ipipMTU: "IpInIpMtu",
  vxlanEnabled: "VXLANEnabled",
  vxlanMTUV6: "VXLANMTUV6",
  xdpRefreshInterval: "XDPRefreshInterval",
  iptablesPostWriteCheckInterval: "IptablesPostWriteCheckIntervalSecs",
  iptablesLockProbeInterval: "IptablesLockProbeIntervalMillis",
  netlinkTimeout: "NetlinkTimeoutSecs",
  reportingInterval: "ReportingIntervalSecs",
  reportingTTL: "ReportingTTLSecs",
  endpointReportingDelay: "EndpointReportingDelaySecs",
  usageReportingInitialDelay: "UsageReportingInitialDelaySecs",
  usageReportingInterval: "UsageReportingIntervalSecs",
  externalNodesList: "ExternalNodesCIDRList",
  wireguardKeepAlive: "WireguardPersistentKeepAlive",
  bpfConntrackMode: "BPFConntrackCleanupMode",
  bpfMapSizePerCpuConntrack: "BPFMapSizePerCPUConntrack",
  natPortRange: "NATPortRange",
  natOutgoingExclusions: "NATOutgoingExclusions",
  nftablesMode: "NFTablesMode",
  nftablesRefreshInterval: "NftablesRefreshInterval",
  ipForwarding: "IPForwarding",
  ipv4ElevatedRoutePriority: "IPv4ElevatedRoutePriority",
  mtuIfacePattern: "MTUIfacePattern",
  awsSrcDstCheck: "AWSSrcDstCheck",
  bpfPSNATPorts: "BPFPSNATPorts",
};

test("FELIX_FIELDS names each parameter once, and the irregular ones as upstream does", () => {
  const parameters = [...FELIX_FIELDS.values()].map(({ parameter }) => parameter.toLowerCase());
  assert.equal(new Set(parameters).size, parameters.length);
  for (const [field, parameter] of Object.entries(IRREGULAR))
    assert.equal(FELIX_FIELDS.get(field)?.parameter, parameter);
});

/** A value of each form and its text. */
const SAMPLES: Readonly<Record<FelixForm, readonly [value: unknown, text: string | undefined]>> = {
  text: ["x", "x"],
  boolean: [false, "false"],
  integer: [0, "0"],
  duration: ["1m30.5s", "90.5"],
  "duration-ms": ["1s", "1000"],
  port: ["1024:2048", "1024:2048"],
  ports: [["30000:32767", 80], "30000:32767,80"],
  dscp: ["AF41", "AF41"],
  texts: [["a", "b"], "a,b"],
  "text-map": [{ b: "2", a: "1" }, "a=1,b=2,"],
  "failsafe-ports": [[{ protocol: "SCTP", port: 7 }], "sctp:7"],
  "table-range": [{ min: 1, max: 2 }, "1-2"],
  "table-ranges": [[{ min: 1, max: 2 }], "1-2"],
  "health-timeouts": [[{ name: "A", timeout: "20s" }], "A=20s"],
  "conntrack-timeouts": [{ udpTimeout: "Auto", icmpTimeout: "5s" }, "UDPTimeout=Auto,ICMPTimeout=5s"],
  placement: ["all()", undefined],
};

describe("felixConfigurationProcessor() sends each field", () => {
  for (const { field, parameter, form } of FELIX_FIELDS.values()) {
    const [value, want] = SAMPLES[form];
    test(`${field} as ${want === undefined ? "nothing" : `${parameter}=${want}`}, and takes it back`, () => {
      const on = felixConfigurationProcessor();
      const path = `/calico/v1/config/${parameter}`;
      assert.deepEqual(
        texts(send(on, "FelixConfiguration", "default", { [field]: value }).outputs),
        want === undefined ? {} : { [path]: want },
      );
      const unset = want === undefined ? {} : { [path]: undefined };
      assert.deepEqual(texts(send(on, "FelixConfiguration", "default", {}).outputs), unset);
    });
  }
});

const UNUSABLE: readonly (readonly [field: string, value: unknown])[] = [
  ["reportingInterval", "soon"],
  ["reportingInterval", 30],
  ["failsafeInboundHostPorts", [{ protocol: "tcp", port: 1, net: "10.0.0.0/99" }]],
  ["failsafeInboundHostPorts", ["tcp:22"]],
  ["failsafeInboundHostPorts", [{ protocol: 5, port: 22 }]],
  ["failsafeInboundHostPorts", [{ protocol: "icmp", port: 22 }]],
  ["failsafeOutboundHostPorts", [{ protocol: "udp", port: 1.5 }]],
  ["failsafeOutboundHostPorts", [{ protocol: "udp", port: 65_536 }]],
  ["routeTableRange", { min: 1 }],
  ["bpfConntrackTimeouts", { udpTimeout: 5 }],
  ["bpfLogFilters", { all: 1 }],
  ["istioDSCPMark", 64],
  ["istioDSCPMark", "AF14"],
];

for (const [field, value] of UNUSABLE) {
  test(`felixConfigurationProcessor() names ${field} ${JSON.stringify(value)}, sends it as unset and goes on`, () => {
    const on = felixConfigurationProcessor();
    const { outputs, issues } = send(on, "FelixConfiguration", "default", { [field]: value, bpfEnabled: true });
    assert.deepEqual(texts(outputs), {
      [`/calico/v1/config/${FELIX_FIELDS.get(field)?.parameter}`]: undefined,
      "/calico/v1/config/BPFEnabled": "true",
    });
    assert.deepEqual(
      issues.map((issue) => issue.field),
      [`spec.${field}`],
    );
  });
}

test("felixConfigurationProcessor() gives a field that it does not know with a capital", () => {
  const { outputs } = send(felixConfigurationProcessor(), "FelixConfiguration", "node.h", { someThing: ["a", "b"] });
  assert.deepEqual(texts(outputs), { "/calico/v1/host/h/config/SomeThing": "a,b" });
});

test("a configuration of no node is named and sends nothing", () => {
  for (const on of [felixConfigurationProcessor(), clusterInformationProcessor()]) {
    const { outputs, issues } = send(on, "FelixConfiguration", "node.", { bpfEnabled: true });
    assert.deepEqual([outputs, issues.map((issue) => issue.field)], [[], ["metadata.name"]]);
  }
});

test("clusterInformationProcessor() takes the flag back with the resource, and leaves out other names", () => {
  const on = clusterInformationProcessor();
  const ready = (name: string, spec: unknown) => texts(send(on, "ClusterInformation", name, spec).outputs);
  assert.deepEqual(ready("default", { datastoreReady: true }), { "/calico/v1/Ready": true });
  assert.deepEqual(ready("default", { datastoreReady: "yes" }), { "/calico/v1/Ready": undefined });
  assert.deepEqual(ready("default", { datastoreReady: false }), { "/calico/v1/Ready": false });
  assert.deepEqual(ready("default", undefined), { "/calico/v1/Ready": undefined });
  assert.deepEqual(ready("other", { datastoreReady: true, variant: "x" }), {});
});
