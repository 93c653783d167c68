import assert from "node:assert/strict";
import { test } from "node:test";
import type { IPPool, Key, NodeResource, Resource, ResourceKind, Value } from "@bulrush/model";
import type { CalcMessage } from "../graph/message.ts";
import { type KV, Rig, type State, update } from "../testing/harness.ts";
import { policy, profileLabels, profileRules, tier, workload } from "../testing/fixtures.ts";
import { sequence } from "../testing/sequence.ts";

const HOST = "localhostname";

function resource(kind: ResourceKind, name: string, fields: object, namespace = ""): KV {
  const metadata = namespace === "" ? { name } : { name, namespace };
  const value = { apiVersion: "projectcalico.org/v3", kind, metadata, ...fields } as Resource;
  return { key: { type: "Resource", kind, namespace, name }, value };
}

function node(name: string, spec: NodeResource["spec"] | undefined, labels?: Record<string, string>): KV {
  return resource("Node", name, { metadata: { name, ...(labels && { labels }) }, ...(spec && { spec }) });
}

function pool(cidr: string, value: Partial<IPPool> = {}): KV {
  const defaults = { ipip: "", ipip_mode: "", vxlan_mode: "", masquerade: false, ipam: true, disabled: false } as const;
  const rest = { disableBGPExport: false, assignment_mode: "Automatic", allowed_uses: ["Workload"] } as const;
  return { key: { type: "IPPool", cidr }, value: { cidr, ...defaults, ...rest, ...value } };
}

const config = (name: string, value: string): KV => ({ key: { type: "GlobalConfig", name }, value });
const hostConfig = (hostname: string, name: string, value: string): KV => ({
  key: { type: "HostConfig", hostname, name },
  value,
});
const READY: KV = { key: { type: "ReadyFlag" }, value: true };

/** Messages of one flush of a graph that is in sync. */
function messagesOf(rig: Rig, state: State): CalcMessage[] {
  rig.go(state);
  rig.flush();
  return rig.messages;
}

function synced(config: ConstructorParameters<typeof Rig>[1] = {}): Rig {
  const rig = new Rig(HOST, config);
  rig.inSync();
  rig.flush();
  return rig;
}

const meta = (ipv4: string, ipv6 = "", asnumber = "", labels: Record<string, string> = {}): unknown => ({
  h: {
    msg: "HostMetadataUpdate",
    hostname: "h",
    ipv4_addr: ipv4,
    ipv6_addr: ipv6,
    asnumber,
    labels: new Map(Object.entries(labels)),
  },
});
const INTERNAL = { address: "10.1.0.1", type: "InternalIP" } as const;
const EXTERNAL = { address: "10.2.0.1", type: "ExternalIP" } as const;

sequence("a node's addresses come from BGP, else from its internal, else from its external addresses", [
  { name: "none", kvs: [node("h", undefined)], expect: { others: { hostMetadata: meta("") } } },
  {
    name: "BGP",
    kvs: [
      node("h", { bgp: { ipv4Address: "10.0.0.1/24", ipv6Address: "dead:beef:1::2/96", asNumber: 7 } }, { a: "b" }),
    ],
    expect: { others: { hostMetadata: meta("10.0.0.1/24", "dead:beef:1::2/96", "7", { a: "b" }) } },
  },
  {
    name: "internal before external",
    kvs: [node("h", { addresses: [EXTERNAL, INTERNAL, { address: "fd00::1", type: "InternalIP" }] })],
    expect: { others: { hostMetadata: meta("10.1.0.1/32", "fd00::1/128") } },
  },
  {
    name: "external only",
    kvs: [node("h", { addresses: [EXTERNAL] })],
    expect: { others: { hostMetadata: meta("10.2.0.1/32") } },
  },
  {
    name: "BGP for one family",
    kvs: [node("h", { bgp: { ipv6Address: "fd00::2/64" }, addresses: [INTERNAL] })],
    expect: { others: { hostMetadata: meta("10.1.0.1/32", "fd00::2/64") } },
  },
  {
    name: "a bare BGP address",
    kvs: [node("h", { bgp: { ipv4Address: "10.0.0.1" } })],
    expect: { others: { hostMetadata: meta("") } },
  },
  {
    name: "an address without a type",
    kvs: [node("h", { addresses: [{ address: "10.1.0.1" }] })],
    expect: { others: { hostMetadata: meta("") } },
  },
  {
    name: "only a tunnel address in BGP",
    kvs: [node("h", { bgp: { ipv4IPIPTunnelAddr: "10.9.0.1", asNumber: 5 }, addresses: [INTERNAL] })],
    expect: { others: { hostMetadata: meta("10.1.0.1/32", "", "5") } },
  },
  {
    name: "nothing set in BGP: the node is about to go",
    kvs: [node("h", { bgp: {}, addresses: [INTERNAL] })],
    expect: { others: { hostMetadata: {} } },
  },
]);

test("Passthrough sends a node again only when its metadata changed", () => {
  const rig = synced();
  assert.equal(messagesOf(rig, [node("h", { addresses: [INTERNAL] })]).length, 1);
  assert.deepEqual(messagesOf(rig, [node("h", { addresses: [INTERNAL, EXTERNAL] })]), []);
});

sequence("pools go through with the id of their network", [
  {
    name: "one",
    kvs: [pool("10.0.0.0/16", { masquerade: true, vxlan_mode: "cross-subnet" })],
    expect: {
      others: {
        ipamPools: {
          "10.0.0.0-16": {
            msg: "IPAMPoolUpdate",
            id: "10.0.0.0-16",
            pool: {
              cidr: "10.0.0.0/16",
              masquerade: true,
              ipip_mode: "",
              vxlan_mode: "cross-subnet",
              allowed_uses: ["Workload"],
            },
          },
        },
      },
    },
  },
]);

const wireguard = (value: object): KV => ({ key: { type: "Wireguard", hostname: "h" }, value: value as Value });

sequence("each half of a Wireguard key stands for itself", [
  {
    name: "both",
    kvs: [wireguard({ publicKey: "k4", interfaceIPv4Addr: "1.1.1.1", publicKeyV6: "k6", interfaceIPv6Addr: "fd::1" })],
    expect: {
      others: {
        wireguard: {
          h: { msg: "WireguardEndpointUpdate", hostname: "h", public_key: "k4", interface_ipv4_addr: "1.1.1.1" },
        },
        wireguardV6: {
          h: { msg: "WireguardEndpointV6Update", hostname: "h", public_key_v6: "k6", interface_ipv6_addr: "fd::1" },
        },
      },
    },
  },
  {
    name: "IPv6 only",
    kvs: [wireguard({ publicKey: "", publicKeyV6: "k6" })],
    expect: {
      others: {
        wireguard: {},
        wireguardV6: {
          h: { msg: "WireguardEndpointV6Update", hostname: "h", public_key_v6: "k6", interface_ipv6_addr: "" },
        },
      },
    },
  },
]);

sequence("services and the default BGP settings go through", [
  {
    name: "service",
    kvs: [
      resource(
        "KubernetesService",
        "svc",
        {
          spec: {
            type: "LoadBalancer",
            clusterIP: "10.96.0.1",
            externalIPs: ["1.2.3.4"],
            loadBalancerIP: "5.6.7.8",
            ports: [{ protocol: "UDP", port: 53, nodePort: 30053 }],
          },
          status: { loadBalancer: { ingress: [{ ip: "5.6.7.8" }, { hostname: "x" }] } },
        },
        "ns",
      ),
    ],
    expect: {
      others: {
        services: {
          "ns/svc": {
            msg: "ServiceUpdate",
            name: "svc",
            namespace: "ns",
            type: "LoadBalancer",
            cluster_ips: ["10.96.0.1"],
            loadbalancer_ip: "5.6.7.8",
            external_ips: ["1.2.3.4"],
            ports: [{ protocol: "UDP", port: 53, node_port: 30053 }],
            loadbalancer_ingress_ips: ["5.6.7.8"],
          },
        },
      },
    },
  },
  {
    name: "BGP settings: blank networks are skipped, other configurations are not the default",
    kvs: [
      resource("BGPConfiguration", "default", {
        spec: { serviceClusterIPs: [{ cidr: "10.96.0.0/12" }, { cidr: "" }], localWorkloadPeeringIPV4: "10.0.0.9" },
      }),
      resource("BGPConfiguration", "node.x", { spec: { serviceClusterIPs: [{ cidr: "1.0.0.0/8" }] } }),
    ],
    expect: {
      others: {
        globalBgpConfig: {
          msg: "GlobalBGPConfigUpdate",
          service_cluster_cidrs: ["10.96.0.0/12"],
          service_external_cidrs: [],
          service_loadbalancer_cidrs: [],
          local_workload_peering_ip_v4: "10.0.0.9",
          local_workload_peering_ip_v6: "",
        },
      },
    },
  },
]);

sequence("profiles of namespaces and service accounts are decoded, others are not", [
  {
    name: "four",
    kvs: [
      profileLabels("kns.x", { "pcns.a": "b", other: "c" }),
      profileLabels("ksa.x.y", { "pcsa.a": "b" }),
      profileLabels("ksa.x", { a: "b" }),
      profileLabels("z", { a: "b" }),
    ],
    expect: {
      others: {
        namespaces: { x: { msg: "NamespaceUpdate", id: "x", labels: new Map(Object.entries({ a: "b", other: "c" })) } },
        serviceAccounts: {
          "x/y": {
            msg: "ServiceAccountUpdate",
            id: { namespace: "x", name: "y" },
            labels: new Map([["a", "b"]]),
          },
        },
      },
    },
  },
]);

const encapsulation = (ipip: boolean, vxlan: boolean, vxlanV6: boolean, plain: boolean): unknown => ({
  msg: "Encapsulation",
  ipip_enabled: ipip,
  vxlan_enabled: vxlan,
  vxlan_enabled_v6: vxlanV6,
  no_encap_needed: plain,
});

for (const [mode, plain] of [
  ["Disabled", false],
  ["EnabledIPIPOnly", false],
  ["EnabledNoEncapOnly", true],
  ["Enabled", true],
] as const)
  sequence(
    `encapsulation follows the pools, with programClusterRoutes ${mode}`,
    [
      { name: "none", kvs: [], expect: { others: { encapsulation: encapsulation(false, false, false, false) } } },
      {
        name: "IPIP",
        kvs: [pool("10.0.0.0/16", { ipip_mode: "always" })],
        expect: { others: { encapsulation: encapsulation(true, false, false, false) } },
      },
      {
        name: "VXLAN",
        kvs: [pool("10.0.0.0/16", { vxlan_mode: "cross-subnet" }), pool("fd00::/64", { vxlan_mode: "always" })],
        expect: { others: { encapsulation: encapsulation(false, true, true, false) } },
      },
      {
        name: "plain, and a mode that is none",
        kvs: [pool("10.0.0.0/16", { ipip_mode: "sometimes" as never })],
        expect: { others: { encapsulation: encapsulation(false, false, false, plain) } },
      },
    ],
    { programClusterRoutes: mode },
  );

test("an explicit setting beats what the pools say", () => {
  const rig = new Rig(HOST, { explicitIPIPEnabled: false, explicitVXLANEnabled: true });
  rig.go([pool("10.0.0.0/16", { ipip_mode: "always" })]);
  rig.inSync();
  rig.flush();
  assert.deepEqual(rig.state.encapsulation, encapsulation(false, true, false, false));
});

test("encapsulation is silent before in-sync, then said once, and still followed when the status falls back", () => {
  const count = (rig: Rig): number => rig.messages.filter((message) => message.msg === "Encapsulation").length;
  const rig = new Rig(HOST);
  rig.go([pool("10.0.0.0/16", { vxlan_mode: "always" })]);
  rig.flush();
  assert.equal(count(rig), 0);
  rig.inSync();
  rig.flush();
  assert.equal(count(rig), 1);
  rig.graph.onStatusUpdated("resync");
  rig.go([pool("10.0.0.0/16")]);
  rig.flush();
  assert.equal(count(rig), 1);
});

test("configuration is gathered, and sent once per change and only in sync", () => {
  const configs = (messages: readonly CalcMessage[]): unknown[] =>
    messages.flatMap((message) => (message.msg === "ConfigUpdate" ? [Object.fromEntries(message.config)] : []));
  const rig = new Rig(HOST);
  const state = [READY, config("A", "1"), config("B", "1"), hostConfig(HOST, "B", "2")];
  rig.go(state);
  rig.flush();
  assert.deepEqual(configs(rig.messages), []);
  rig.inSync();
  rig.flush();
  assert.deepEqual(configs(rig.messages), [{ A: "1", B: "2" }]);
  rig.graph.onUpdates([{ key: state[1]?.key as Key, path: "", value: "1", revision: "2", type: "updated" }]);
  rig.flush();
  assert.deepEqual(rig.messages, [], "the same value");
  assert.deepEqual(configs(messagesOf(rig, [...state, hostConfig("other", "B", "3")])), [], "another host's");
  assert.deepEqual(configs(messagesOf(rig, state.slice(0, 3))), [{ A: "1", B: "1" }], "a key that went");
});

test("a datastore that is not ready is said to be so, before its settings", () => {
  const rig = new Rig(HOST);
  rig.inSync();
  rig.flush();
  assert.deepEqual(
    rig.messages.slice(0, 2).map((message) => message.msg),
    ["DatastoreNotReady", "ConfigUpdate"],
  );
  assert.deepEqual([...(rig.state.config?.config ?? ["?"])], []);
  assert.ok(!messagesOf(rig, [READY]).some((message) => message.msg === "DatastoreNotReady"));
  assert.ok(messagesOf(rig, []).some((message) => message.msg === "DatastoreNotReady"));
  const bad: KV = { key: { type: "ReadyFlag" }, value: "true" };
  assert.ok(!messagesOf(rig, [bad]).some((message) => message.msg === "ConfigUpdate"), "not ready stays not ready");
});

test("a FelixConfiguration with a selector counts while it selects this node, the oldest of several", () => {
  const scoped = (name: string, nodeSelector: string, creationTimestamp: string): KV =>
    resource("FelixConfiguration", name, { metadata: { name, creationTimestamp }, spec: { nodeSelector } });
  const rig = new Rig(HOST, {}, (one) => new Map([["From", one.metadata.name]]));
  rig.inSync();
  const own = node(HOST, undefined, { rack: "1" });
  const from = (...state: State): string | undefined => {
    rig.go([READY, ...state]);
    rig.flush();
    return rig.state.config?.config.get("From");
  };
  const first = scoped("c1", "rack == '1'", "2026-01-02T00:00:00Z");
  assert.equal(from(first), undefined, "unknown node");
  assert.equal(from(first, own), "c1");
  assert.equal(from(first, own, scoped("c0", "has(rack)", "2026-01-02T00:00:00Z")), "c0", "same age: by name");
  assert.equal(from(first, own, scoped("c9", "has(rack)", "2026-01-01T00:00:00Z")), "c9", "the oldest");
  assert.equal(from(first, node(HOST, undefined, { rack: "2" })), undefined, "labels changed");
  assert.equal(from(own, scoped("c1", "", "2026-01-02T00:00:00Z")), undefined, "an empty selector selects nothing");
  assert.equal(from(own, scoped("c1", "rack ==", "2026-01-02T00:00:00Z")), undefined, "nor does a bad one");
});

test("stats count what is there, by host", () => {
  const rig = synced();
  const plain = policy("p0", { inbound_rules: [{ src_selector: "all()" }] });
  rig.go([
    workload("w1", {}),
    workload("w2", {}, "h2"),
    node("h3", undefined),
    plain,
    policy("p1", { inbound_rules: [{ http: { methods: ["GET"] } }] }),
    policy("p2", { outbound_rules: [{ orig_dst_service_acct_selector: "has(a)" }] }),
    tier("t"),
    profileLabels("p", {}),
    profileRules("p"),
  ]);
  assert.deepEqual(rig.graph.stats, {
    hosts: 3,
    workloadEndpoints: 2,
    hostEndpoints: 0,
    policies: 3,
    profiles: 1,
    tiers: 1,
    applicationLayerPolicies: 2,
  });
  rig.go([plain]);
  assert.deepEqual(Object.values(rig.graph.stats), [0, 0, 0, 1, 0, 0, 0]);
});

test("stats count hosts of which only settings are known, this one and others, once each", () => {
  const rig = synced();
  rig.go([hostConfig(HOST, "A", "1"), hostConfig("h2", "A", "1"), hostConfig("h2", "B", "1"), node("h2", undefined)]);
  assert.equal(rig.graph.stats.hosts, 2);
  rig.graph.onUpdates([update({ type: "HostConfig", hostname: "h9", name: "A" }, undefined)]);
  rig.go([hostConfig("h2", "B", "1")]);
  assert.equal(rig.graph.stats.hosts, 1);
  rig.go([]);
  assert.equal(rig.graph.stats.hosts, 0);
});

test("activity counts what is at work on this host", () => {
  const rig = synced();
  const selecting = policy("p0", { selector: "all()", inbound_rules: [{ src_selector: "has(x)" }] });
  rig.go([
    workload("w1", { profile_ids: ["p"] }),
    workload("w2", {}, "h2"),
    selecting,
    policy("p1", { selector: "has(y)" }),
  ]);
  rig.flush();
  const { selectorEvaluations, ...counts } = rig.graph.activity;
  assert.deepEqual(counts, {
    localEndpoints: 1,
    activePolicies: 1,
    activeProfiles: 1,
    activeIpSets: 1,
    indexedItems: 2,
    indexedSelectors: 1,
  });
  assert.ok(selectorEvaluations > 0);
});
