import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Key } from "./key.ts";
import { formatKey, legacyTierOf, parseKey, POLICY_KINDS, RESOURCE_PLURALS } from "./path.ts";

const policy = (kind: keyof typeof POLICY_KINDS, namespace: string, name: string): Key => ({
  type: "Policy",
  kind,
  namespace,
  name,
});

/** Path and key of each type, both ways. */
const KEYS: readonly (readonly [path: string, key: Key])[] = [
  [
    "/calico/v1/host/h.1/workload/k8s/ns%2fp%251/endpoint/eth0",
    { type: "WorkloadEndpoint", hostname: "h.1", orchestrator: "k8s", workload: "ns/p%1", endpoint: "eth0" },
  ],
  ["/calico/v1/host/h/endpoint/a%2fb", { type: "HostEndpoint", hostname: "h", endpoint: "a/b" }],
  ["/calico/v1/policy/NetworkPolicy/ns/p", policy("NetworkPolicy", "ns", "p")],
  ["/calico/v1/policy/GlobalNetworkPolicy//g", policy("GlobalNetworkPolicy", "", "g")],
  ["/calico/v1/policy/tier/t/metadata", { type: "Tier", name: "t" }],
  ["/calico/v1/policy/profile/kns.a%252fb/rules", { type: "ProfileRules", name: "kns.a%2fb" }],
  ["/calico/v1/policy/profile/p/labels", { type: "ProfileLabels", name: "p" }],
  ["/calico/v1/netset/ns%2fs", { type: "NetworkSet", name: "ns/s" }],
  ["/calico/v1/ipam/v4/pool/10.0.0.0-8", { type: "IPPool", cidr: "10.0.0.0/8" }],
  ["/calico/v1/ipam/v6/pool/fd00::-64", { type: "IPPool", cidr: "fd00::/64" }],
  ["/calico/ipam/v2/assignment/ipv4/block/10.0.0.0-26", { type: "Block", cidr: "10.0.0.0/26" }],
  [
    "/calico/ipam/v2/host/n-1/ipv4/block/10.0.0.0-26",
    { type: "BlockAffinity", affinityType: "host", host: "n-1", cidr: "10.0.0.0/26" },
  ],
  ["/calico/v1/host/h/config/LogSeverity", { type: "HostConfig", hostname: "h", name: "LogSeverity" }],
  ["/calico/v1/config/LogSeverity", { type: "GlobalConfig", name: "LogSeverity" }],
  ["/calico/v1/Ready", { type: "ReadyFlag" }],
  ["/calico/v1/host/h/wireguard", { type: "Wireguard", hostname: "h" }],
  ["/calico/resources/v3/projectcalico.org/nodes/n", { type: "Resource", kind: "Node", namespace: "", name: "n" }],
  [
    "/calico/resources/v3/projectcalico.org/kubernetesservices/ns/s",
    { type: "Resource", kind: "KubernetesService", namespace: "ns", name: "s" },
  ],
];

describe("formatKey() and parseKey()", () => {
  for (const [path, key] of KEYS) {
    it(`are each other's inverse for ${path}`, () => {
      assert.equal(formatKey(key), path);
      assert.deepEqual(parseKey(path), key);
    });
  }

  it("have a row here for every type of key", () => {
    const types: Record<Key["type"], true> = {
      WorkloadEndpoint: true,
      HostEndpoint: true,
      Policy: true,
      Tier: true,
      ProfileRules: true,
      ProfileLabels: true,
      NetworkSet: true,
      IPPool: true,
      Block: true,
      BlockAffinity: true,
      HostConfig: true,
      GlobalConfig: true,
      ReadyFlag: true,
      Wireguard: true,
      Resource: true,
    };
    assert.deepEqual([...new Set(KEYS.map(([, key]) => key.type))].sort(), Object.keys(types).sort());
  });

  it("are each other's inverse whatever the names are", () => {
    const name = fc.string({
      minLength: 1,
      maxLength: 12,
      unit: fc.constantFrom(..."a b % 2 f F 5 . / - \u00e9".split(" ")),
    });
    const segment = name.filter((text) => !text.includes("/"));
    const keys = fc.oneof(
      fc.tuple(segment, name, name, name).map(
        ([hostname, orchestrator, workload, endpoint]): Key => ({
          type: "WorkloadEndpoint",
          hostname,
          orchestrator,
          workload,
          endpoint,
        }),
      ),
      name.map((own): Key => ({ type: "NetworkSet", name: own })),
      name.map((own): Key => ({ type: "ProfileRules", name: own })),
      fc
        .tuple(fc.constantFrom(...(Object.keys(POLICY_KINDS) as (keyof typeof POLICY_KINDS)[])), segment, segment)
        .map(([kind, namespace, own]) => policy(kind, POLICY_KINDS[kind].namespaced ? namespace : "", own)),
      fc
        .tuple(fc.constantFrom(...(Object.keys(RESOURCE_PLURALS) as (keyof typeof RESOURCE_PLURALS)[])), segment)
        .map(([kind, own]): Key => ({ type: "Resource", kind, namespace: "", name: own })),
    );
    fc.assert(fc.property(keys, (key) => assert.deepEqual(parseKey(formatKey(key)), key)));
  });
});

describe("parseKey()", () => {
  const legacy: readonly (readonly [name: string, key: Key])[] = [
    ["ns%2fx", policy("NetworkPolicy", "ns", "x")],
    ["ns%2fknp.default.x", policy("KubernetesNetworkPolicy", "ns", "x")],
    ["ns%2fstaged:x", policy("StagedNetworkPolicy", "ns", "x")],
    ["ns%2fstaged:knp.default.x", policy("StagedKubernetesNetworkPolicy", "ns", "x")],
    ["x", policy("GlobalNetworkPolicy", "", "x")],
    ["staged:x", policy("StagedGlobalNetworkPolicy", "", "x")],
    ["kcnp.x", policy("KubernetesClusterNetworkPolicy", "", "x")],
    ["staged:kcnp.x", policy("StagedGlobalNetworkPolicy", "", "kcnp.x")],
  ];
  for (const [name, key] of legacy) {
    it(`finds the kind in the legacy name ${name}`, () => {
      const path = `/calico/v1/policy/tier/t/policy/${name}`;
      assert.deepEqual(parseKey(path), key);
      assert.equal(legacyTierOf(path), "t");
      assert.equal(legacyTierOf(formatKey(key)), undefined);
    });
  }

  it("takes a missing leading slash for v1 paths only", () => {
    assert.deepEqual(parseKey("calico/v1/config/X"), { type: "GlobalConfig", name: "X" });
    assert.equal(parseKey("calico/v1/Ready"), undefined);
    assert.equal(parseKey("calico/resources/v3/projectcalico.org/nodes/n"), undefined);
  });

  const none = [
    "",
    "/",
    "/calico",
    "/calico/v1",
    "/calico/v2/config/X",
    "/calico/v1/config/",
    "/calico/v1/host//wireguard",
    "/calico/v1/host/h/workload///endpoint/",
    "/calico/v1/host/h/workload/k8s//endpoint/e",
    "/calico/v1/policy/tier//metadata",
    "/calico/v1/policy/tier/t/policy/",
    "/calico/v1/policy/NetworkPolicy//g",
    "/calico/v1/policy/GlobalNetworkPolicy/ns/g",
    "/calico/v1/policy/constructor/ns/g",
    "/calico/v1/policy/profile//rules",
    "/calico/v1/ipam/v4/pool/577559",
    "/calico/v1/ipam/v4/pool/a-b",
    "/calico/v1/ipam/v4/pool/fd00::-64",
    "/calico/v1/ipam/v6/pool/10.0.0.0-8",
    "/calico/ipam/v2/host//ipv4/block/10.0.0.0-26",
    "/calico/resources/v3/projectcalico.org/nodes/",
    "/calico/resources/v3/projectcalico.org/nodes//n",
    "/calico/resources/v3/projectcalico.org/pods/n",
    "/calico/resources/v3/crd.projectcalico.org/nodes/n",
  ];
  for (const path of none) it(`reads no key in ${path}`, () => assert.equal(parseKey(path), undefined));
});
