import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Key } from "../v1/key.ts";
import { valueFromPlain } from "../v1/json.ts";
import { validateV1 } from "./validate-v1.ts";

const WEP: Key = { type: "WorkloadEndpoint", hostname: "h", orchestrator: "k8s", workload: "ns/p", endpoint: "eth0" };
const HEP: Key = { type: "HostEndpoint", hostname: "h", endpoint: "e" };
const POLICY: Key = { type: "Policy", kind: "GlobalNetworkPolicy", namespace: "", name: "p" };
const TIER: Key = { type: "Tier", name: "t" };
const SET: Key = { type: "NetworkSet", name: "s" };
const POOL: Key = { type: "IPPool", cidr: "10.0.0.0/16" };
const BLOCK: Key = { type: "Block", cidr: "10.0.0.0/26" };
const WIREGUARD: Key = { type: "Wireguard", hostname: "h" };
const NODE: Key = { type: "Resource", kind: "Node", namespace: "", name: "h" };
const SERVICE: Key = { type: "Resource", kind: "KubernetesService", namespace: "n", name: "s" };
const SLICE: Key = { type: "Resource", kind: "KubernetesEndpointSlice", namespace: "n", name: "s-1" };
const BGP: Key = { type: "Resource", kind: "BGPConfiguration", namespace: "", name: "default" };
const PROFILE: Key = { type: "Resource", kind: "Profile", namespace: "", name: "kns.a" };

const GOOD_WEP = {
  state: "active",
  name: "cali123",
  mac: "01:23:45:67:89:ab",
  profile_ids: ["kns.ns", "ksa.ns.default"],
  ipv4_nets: ["10.0.0.1/32"],
  ipv6_nets: ["fd00::1/128"],
  ipv4_nat: [{ int_ip: "10.0.0.1", ext_ip: "1.2.3.4" }],
  labels: { "projectcalico.org/serviceaccount": "a".repeat(100), odd: "" },
  ports: [{ name: "http", protocol: "tcp", port: 80 }],
  qosControls: { dscp: 20 },
};
const GOOD_POLICY = {
  tier: "default",
  order: 10.5,
  inbound_rules: [{ action: "allow", src_selector: "has(a)" }],
  outbound_rules: [],
  selector: "all()",
  types: ["Ingress", "egress"],
  performance_hints: ["AssumeNeededOnEveryNode"],
};
const GOOD_POOL = { cidr: "10.0.0.0/16", ipip: "", ipip_mode: "", vxlan_mode: "always", masquerade: true };
const KEY_44 = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

describe("validateV1() accepts", () => {
  const rows: readonly (readonly [key: Key, value: unknown])[] = [
    [WEP, GOOD_WEP],
    [WEP, { ...GOOD_WEP, mac: null, ports: [], ipv4_nets: [] }],
    [WEP, { ...GOOD_WEP, ports: [{ name: "My_Port.1", protocol: "sctp", port: 80 }] }],
    [WEP, { name: "eth0" }],
    [WEP, { ...GOOD_WEP, allow_spoofed_source_ips: ["8.8.8.8/32"] }],
    [HEP, { name: "*", expected_ipv4_addrs: ["1.2.3.4"], labels: {}, profile_ids: ["p"] }],
    [HEP, { name: "", expected_ipv6_addrs: ["fd00::1"] }],
    [POLICY, GOOD_POLICY],
    [POLICY, { selector: "", inbound_rules: null }],
    [TIER, { order: 1, defaultAction: "Pass" }],
    [TIER, { defaultAction: "Deny" }],
    [
      { type: "ProfileRules", name: "p" },
      { inbound_rules: [], outbound_rules: [{ action: "deny" }] },
    ],
    [{ type: "ProfileLabels", name: "p" }, { a: "b" }],
    [SET, { nets: ["10.0.0.1/8", "10.0.0.1", "fd00::/8"], labels: {} }],
    [POOL, GOOD_POOL],
    [POOL, { ...GOOD_POOL, cidr: "fd00::/64" }],
    [POOL, { ...GOOD_POOL, cidr: "10.0.0.0/32" }],
    [BLOCK, { cidr: "10.0.0.0/26", affinity: null, allocations: [0, null], unallocated: [1], attributes: [{}] }],
    [{ type: "BlockAffinity", affinityType: "host", host: "h", cidr: "10.0.0.0/26" }, { state: "confirmed" }],
    [{ type: "GlobalConfig", name: "X" }, ""],
    [{ type: "HostConfig", hostname: "h", name: "X" }, "1"],
    [{ type: "ReadyFlag" }, false],
    [WIREGUARD, { interfaceIPv4Addr: "10.0.0.1", publicKey: KEY_44, publicKeyV6: "" }],
    [NODE, { metadata: { name: "h", labels: { "no valid key": "x" } }, spec: { bgp: { ipv4Address: "10.0.0.1/24" } } }],
    [PROFILE, { metadata: { name: "kns.a" }, spec: { labelsToApply: { [`pcns.${"a".repeat(63)}`]: "v" } } }],
    [SERVICE, { metadata: { name: "s" } }],
    [
      SERVICE,
      {
        metadata: { name: "s" },
        spec: { clusterIP: "10.0.0.1", ports: [{ port: 80, targetPort: "http" }] },
        status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }, { hostname: "lb" }] } },
      },
    ],
    [SLICE, { metadata: { name: "s-1" }, addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }], ports: null }],
    [SLICE, { metadata: { name: "s-1" }, addressType: "FQDN", endpoints: [{ addresses: ["a.example"] }] }],
    [BGP, { metadata: { name: "default" }, spec: { serviceClusterIPs: [{ cidr: "10.0.0.0/12" }, { cidr: "" }] } }],
  ];
  for (const [key, plain] of rows) {
    it(`${key.type} ${JSON.stringify(plain).slice(0, 60)}`, () =>
      assert.deepEqual(validateV1(key, valueFromPlain(key, plain)), []));
  }
});

describe("validateV1() refuses and names the field", () => {
  const rows: readonly (readonly [key: Key, value: unknown, ...paths: string[]])[] = [
    [WEP, { ...GOOD_WEP, name: "" }, "name"],
    [WEP, { ...GOOD_WEP, name: undefined }, "name"],
    [WEP, { ...GOOD_WEP, mac: "nope" }, "mac"],
    [WEP, { ...GOOD_WEP, ipv4_nets: ["10.0.0.1/32", "fd00::1/128"] }, "ipv4_nets[1]"],
    [WEP, { ...GOOD_WEP, ipv6_nets: ["10.0.0.1/32"] }, "ipv6_nets[0]"],
    [WEP, { ...GOOD_WEP, ipv4_nets: "10.0.0.1/32" }, "ipv4_nets"],
    [WEP, { ...GOOD_WEP, ipv4_nat: [{ int_ip: "10.0.0.1" }] }, "ipv4_nat[0]"],
    [WEP, { ...GOOD_WEP, labels: { a: 1 } }, "labels[a]"],
    [WEP, { ...GOOD_WEP, labels: [] }, "labels"],
    [WEP, { ...GOOD_WEP, profile_ids: [""] }, "profile_ids[0]"],
    [WEP, { ...GOOD_WEP, ports: [{ name: "http", protocol: 6, port: 80 }] }, "ports[0]"],
    [WEP, { ...GOOD_WEP, ports: [{ protocol: "tcp", port: 80 }] }, "ports[0]"],
    [WEP, { ...GOOD_WEP, ports: [{ name: "a b", protocol: "tcp", port: 80 }] }, "ports[0]"],
    [WEP, { ...GOOD_WEP, ports: [{ name: "http", protocol: "tcp", port: 0 }] }, "ports[0]"],
    [WEP, { ...GOOD_WEP, ports: [{ name: "http", protocol: "icmp", port: 80 }] }, "ports[0]"],
    [WEP, { ...GOOD_WEP, allow_spoofed_source_ips: ["x"] }, "allow_spoofed_source_ips[0]"],
    [WEP, { ...GOOD_WEP, qosControls: { dscp: "EF" } }, "qosControls.dscp"],
    [WEP, "active", ""],
    [HEP, { name: "much-too-long-name" }, "name"],
    [HEP, { name: "eth0", profile_ids: ["a/b"] }, "profile_ids[0]"],
    [HEP, { name: "eth0", profile_ids: ["a".repeat(128), "a".repeat(129)] }, "profile_ids[1]"],
    [HEP, { name: "eth 0" }, "name"],
    [HEP, { name: "eth0", ports: [{ name: "a", protocol: "tcp", port: 65_536 }] }, "ports[0]"],
    [HEP, { name: "eth0", ports: [{ name: "a", protocol: 17, port: 1 }] }, "ports[0]"],
    [HEP, { name: "eth0", expected_ipv4_addrs: ["1.2.3.4/32"] }, "expected_ipv4_addrs[0]"],
    [POLICY, { ...GOOD_POLICY, selector: "a = b" }, "selector"],
    [POLICY, { ...GOOD_POLICY, inbound_rules: [{}, { src_selector: "(" }] }, "inbound_rules[1].src_selector"],
    [POLICY, { ...GOOD_POLICY, outbound_rules: [null] }, "outbound_rules[0]"],
    [POLICY, { ...GOOD_POLICY, outbound_rules: {} }, "outbound_rules"],
    [POLICY, { ...GOOD_POLICY, order: "10" }, "order"],
    [POLICY, { ...GOOD_POLICY, tier: "a b" }, "tier"],
    [POLICY, { ...GOOD_POLICY, types: ["both"] }, "types"],
    [POLICY, { ...GOOD_POLICY, untracked: "yes" }, "untracked"],
    [POLICY, { ...GOOD_POLICY, untracked: true, pre_dnat: true }, "pre_dnat"],
    [POLICY, { ...GOOD_POLICY, performance_hints: ["Faster"] }, "performance_hints"],
    [
      POLICY,
      { ...GOOD_POLICY, performance_hints: ["AssumeNeededOnEveryNode", "AssumeNeededOnEveryNode"] },
      "performance_hints",
    ],
    [POLICY, [], ""],
    [TIER, { order: "1", defaultAction: "deny" }, "order", "defaultAction"],
    [{ type: "ProfileRules", name: "p" }, { inbound_rules: [{ action: "no" }] }, "inbound_rules[0].action"],
    [{ type: "ProfileLabels", name: "p" }, { a: 1 }, "[a]"],
    [SET, { nets: ["10.0.0.1/33"] }, "nets[0]"],
    [POOL, { ...GOOD_POOL, cidr: "10.0.0.1/16" }, "cidr"],
    [POOL, { ...GOOD_POOL, cidr: "169.254.5.0/24" }, "cidr"],
    [POOL, { ...GOOD_POOL, cidr: "fe80::/64" }, "cidr"],
    [POOL, { ...GOOD_POOL, vxlan_mode: "Always" }, "vxlan_mode"],
    [BLOCK, { cidr: "10.0.0.0/26", allocations: [0], attributes: [] }, "allocations[0]"],
    [{ type: "GlobalConfig", name: "X" }, 1, ""],
    [{ type: "ReadyFlag" }, "true", ""],
    [WIREGUARD, { publicKey: "short" }, "publicKey"],
    [WIREGUARD, { interfaceIPv4Addr: "fd00::1" }, "interfaceIPv4Addr"],
    [NODE, { metadata: { name: "h" }, spec: { bgp: {} } }, "spec.bgp"],
    [NODE, { metadata: {} }, "metadata.name"],
    [NODE, { metadata: { name: "h" }, spec: [] }, "spec"],
    [NODE, { metadata: { name: "h", odd: [{ at: new Date(0) }] } }, "metadata.odd.0.at"],
    [SERVICE, { metadata: { name: "s" }, spec: { ports: 80 } }, "spec.ports"],
    [SERVICE, { metadata: { name: "s" }, spec: { ports: [null] } }, "spec.ports[0]"],
    [SERVICE, { metadata: { name: "s" }, spec: { clusterIP: 1 } }, "spec.clusterIP"],
    [SERVICE, { metadata: { name: "s" }, status: { loadBalancer: [] } }, "status.loadBalancer"],
    [SERVICE, { metadata: { name: "s" }, status: { loadBalancer: { ingress: true } } }, "status.loadBalancer.ingress"],
    [SLICE, { metadata: { name: "s-1" }, addressType: "IPv4", endpoints: [null] }, "endpoints[0]"],
    [
      SLICE,
      { metadata: { name: "s-1" }, addressType: "IPv4", endpoints: [{ addresses: 1 }] },
      "endpoints[0].addresses",
    ],
    [
      SLICE,
      { metadata: { name: "s-1" }, addressType: "FQDN", endpoints: [{ addresses: [1] }] },
      "endpoints[0].addresses[0]",
    ],
    [SLICE, { metadata: { name: "s-1" }, addressType: "IPv4", ports: [{ protocol: true }] }, "ports[0].protocol"],
    [BGP, { metadata: { name: "default" }, spec: { serviceClusterIPs: true } }, "spec.serviceClusterIPs"],
    [
      BGP,
      { metadata: { name: "default" }, spec: { serviceExternalIPs: [{ cidr: [] }] } },
      "spec.serviceExternalIPs[0].cidr",
    ],
    [
      BGP,
      { metadata: { name: "default" }, spec: { localWorkloadPeeringIPV6: "10.0.0.1" } },
      "spec.localWorkloadPeeringIPV6",
    ],
    [PROFILE, { metadata: { name: "p" }, spec: { ingress: [{ action: "allow" }] } }, "spec.ingress[0].action"],
  ];
  for (const [key, plain, ...paths] of rows) {
    it(`${key.type} ${paths.join(" ")} ${JSON.stringify(plain).slice(0, 60)}`, () =>
      assert.deepEqual(
        validateV1(key, valueFromPlain(key, plain)).map((issue) => issue.path),
        paths,
      ));
  }

  it("says what it expected and what it found", () => {
    assert.deepEqual(validateV1(POOL, { ...GOOD_POOL, cidr: "10.0.0.1/16" } as never), [
      { path: "cidr", message: 'Expected a network without host bits, found "10.0.0.1/16"' },
    ]);
    const [issue] = validateV1(POLICY, { ...GOOD_POLICY, selector: "a = b" } as never);
    assert.match(issue?.message ?? "", /^Cannot parse selector at position 2: expected "==", found "="$/);
  });

  it("lists a bounded number of issues", () => {
    const rules = Array.from({ length: 1000 }, () => ({ action: "no" }));
    assert.equal(validateV1(POLICY, { ...GOOD_POLICY, inbound_rules: rules } as never).length, 100);
  });
});
