import assert from "node:assert/strict";
import { test } from "node:test";
import type { Block, IPPool, NodeResource } from "@bulrush/model";
import type { RouteUpdate } from "@bulrush/proto";
import { HOST, type KV, Rig, type State } from "../testing/harness.ts";
import { workload } from "../testing/fixtures.ts";
import { sequence } from "../testing/sequence.ts";

const R1 = "remotehostname";
const R2 = "remotehostname2";
const VXLAN = { vxlanEnabled: true, vxlanEnabledV6: true };

function node(name: string, spec: NodeResource["spec"]): KV {
  const value = { apiVersion: "projectcalico.org/v3", kind: "Node", metadata: { name }, ...(spec && { spec }) };
  return { key: { type: "Resource", kind: "Node", namespace: "", name }, value };
}

const bgpNode = (name: string, ipv4Address: string, more: object = {}): KV =>
  node(name, { bgp: { ipv4Address }, ...more });

function pool(cidr: string, value: Partial<IPPool> = {}): KV {
  const fixed = {
    ipip: "",
    ipam: true,
    disabled: false,
    disableBGPExport: false,
    assignment_mode: "Automatic",
  } as const;
  const defaults = { ipip_mode: "", vxlan_mode: "", masquerade: false, allowed_uses: ["Workload", "Tunnel"] } as const;
  return { key: { type: "IPPool", cidr }, value: { cidr, ...fixed, ...defaults, ...value } };
}

/** `borrowed`: node by ordinal. */
function block(cidr: string, owner: string, borrowed: Readonly<Record<number, string>> = {}): KV {
  const attributes = [
    { secondary: { node: owner } },
    ...Object.values(borrowed).map((name) => ({ secondary: { node: name } })),
  ];
  const allocations: (number | null)[] = [0, null, null, null, null, null, null, null];
  for (const [i, ordinal] of Object.keys(borrowed).entries()) allocations[Number(ordinal)] = i + 1;
  const value: Block = { cidr, affinity: `host:${owner}`, allocations, unallocated: [], attributes };
  return { key: { type: "Block", cidr }, value };
}

const tunnel = (hostname: string, value: string, name = "IPv4VXLANTunnelAddr"): KV => ({
  key: { type: "HostConfig", hostname, name },
  value,
});

/** What differs from a plain route; the destination comes from its place. */
type RouteText = Partial<RouteUpdate>;

function routes(expected: Readonly<Record<string, RouteText>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(expected).map(([dst, route]) => [
      dst,
      {
        msg: "RouteUpdate",
        dst,
        types: [],
        ip_pool_type: "NONE",
        dst_node_name: "",
        dst_node_ip: "",
        same_subnet: false,
        nat_outgoing: false,
        local_workload: false,
        tunnel_type: { ipip: false, vxlan: false, wireguard: false },
        borrowed: false,
        ...route,
      },
    ]),
  );
}

function vtep(name: string, ipv4: string, tunnelAddress: string, mac: string): Record<string, unknown> {
  return {
    [name]: {
      msg: "VXLANTunnelEndpointUpdate",
      node: name,
      mac,
      ipv4_addr: tunnelAddress,
      parent_device_ip: ipv4,
      mac_v6: "",
      ipv6_addr: "",
      parent_device_ipv6: "",
    },
  };
}

const to = (name: string, ip: string): RouteText => ({ dst_node_name: name, dst_node_ip: ip });
const hostRoute = (name: string, ip: string): RouteText => ({
  ...to(name, ip),
  types: [name === HOST ? "LOCAL_HOST" : "REMOTE_HOST"],
});
const WORKLOAD_R1: RouteText = { types: ["REMOTE_WORKLOAD"], ip_pool_type: "VXLAN", ...to(R1, "192.168.0.2") };

const HOST_KVS: State = [bgpNode(HOST, "192.168.0.1/32"), bgpNode(R1, "192.168.0.2/32")];
const HOST_ROUTES = {
  "192.168.0.1/32": hostRoute(HOST, "192.168.0.1"),
  "192.168.0.2/32": hostRoute(R1, "192.168.0.2"),
};
const POOL = pool("10.0.0.0/16", { vxlan_mode: "always", masquerade: false });
const POOL_ROUTE: Record<string, RouteText> = { "10.0.0.0/16": { ip_pool_type: "VXLAN" } };
const TUNNEL_1 = tunnel(R1, "10.0.1.0");
const R1_MAC = "66:3e:ca:a4:db:65";
const BLOCK_1 = block("10.0.1.0/29", R1);
const VTEP_1 = vtep(R1, "192.168.0.2", "10.0.1.0", R1_MAC);
const REMOTE: State = [...HOST_KVS, POOL, BLOCK_1, TUNNEL_1];
const without = (state: State, ...gone: readonly KV[]): State => state.filter((kv) => !gone.includes(kv));
const [, NODE_1 = assert.fail()] = HOST_KVS;

sequence(
  "a block on another host is routed to it, and needs all its parts",
  [
    {
      name: "whole",
      kvs: REMOTE,
      expect: {
        others: { routes: routes({ ...HOST_ROUTES, ...POOL_ROUTE, "10.0.1.0/29": WORKLOAD_R1 }), vteps: VTEP_1 },
      },
    },
    {
      name: "without the block",
      kvs: without(REMOTE, BLOCK_1),
      expect: { others: { routes: routes({ ...HOST_ROUTES, ...POOL_ROUTE }), vteps: VTEP_1 } },
    },
    {
      name: "without the tunnel's address",
      kvs: without(REMOTE, TUNNEL_1),
      expect: { others: { routes: routes({ ...HOST_ROUTES, ...POOL_ROUTE, "10.0.1.0/29": WORKLOAD_R1 }), vteps: {} } },
    },
    {
      name: "without the node",
      kvs: without(REMOTE, NODE_1),
      expect: {
        others: {
          routes: routes({
            "192.168.0.1/32": hostRoute(HOST, "192.168.0.1"),
            ...POOL_ROUTE,
            "10.0.1.0/29": { ...WORKLOAD_R1, dst_node_ip: "" },
          }),
          vteps: {},
          hostMetadata: {
            [HOST]: {
              msg: "HostMetadataUpdate",
              hostname: HOST,
              ipv4_addr: "192.168.0.1/32",
              ipv6_addr: "",
              asnumber: "",
              labels: new Map(),
            },
          },
        },
      },
    },
    {
      name: "the node has moved",
      kvs: [...without(REMOTE, NODE_1), bgpNode(R1, "192.168.0.9/32")],
      expect: {
        others: {
          routes: routes({
            "192.168.0.1/32": hostRoute(HOST, "192.168.0.1"),
            "192.168.0.9/32": hostRoute(R1, "192.168.0.9"),
            ...POOL_ROUTE,
            "10.0.1.0/29": { ...WORKLOAD_R1, dst_node_ip: "192.168.0.9" },
          }),
          vteps: vtep(R1, "192.168.0.9", "10.0.1.0", R1_MAC),
        },
      },
    },
    {
      name: "a MAC address of its own",
      kvs: [...REMOTE, tunnel(R1, "66:74:c5:72:3f:01", "VXLANTunnelMACAddr")],
      expect: { others: { vteps: vtep(R1, "192.168.0.2", "10.0.1.0", "66:74:c5:72:3f:01") } },
    },
  ],
  VXLAN,
);

sequence(
  "routes of IPv6 stand beside those of IPv4",
  [
    {
      name: "two unencapsulated networks, no address of the node",
      kvs: [...REMOTE, pool("feed:beef::/64"), block("feed:beef::/122", R1)],
      expect: {
        others: {
          routes: routes({
            ...HOST_ROUTES,
            ...POOL_ROUTE,
            "10.0.1.0/29": WORKLOAD_R1,
            "feed:beef::/64": { ip_pool_type: "NO_ENCAP" },
            "feed:beef::/122": { types: ["REMOTE_WORKLOAD"], ip_pool_type: "NO_ENCAP", dst_node_name: R1 },
          }),
        },
      },
    },
    {
      name: "IPv6 only",
      kvs: [
        node(R1, { bgp: { ipv6Address: "dead:beef:1::2/96" } }),
        pool("feed:beef::/64", { vxlan_mode: "always" }),
        block("feed:beef::/122", R1),
        tunnel(R1, "feed:beef::1", "IPv6VXLANTunnelAddr"),
      ],
      expect: {
        others: {
          routes: routes({
            "dead:beef:1::2/128": hostRoute(R1, "dead:beef:1::2"),
            "feed:beef::/64": { ip_pool_type: "VXLAN" },
            "feed:beef::/122": { types: ["REMOTE_WORKLOAD"], ip_pool_type: "VXLAN", ...to(R1, "dead:beef:1::2") },
          }),
          vteps: {
            [R1]: {
              msg: "VXLANTunnelEndpointUpdate",
              node: R1,
              mac: "",
              ipv4_addr: "",
              parent_device_ip: "",
              mac_v6: "66:a0:68:c9:4c:79",
              ipv6_addr: "feed:beef::1",
              parent_device_ipv6: "dead:beef:1::2",
            },
          },
        },
      },
    },
  ],
  VXLAN,
);

const R2_KVS: State = [bgpNode(R2, "192.168.0.3/32"), tunnel(R2, "10.0.2.0")];
const R2_ROUTE = { "192.168.0.3/32": hostRoute(R2, "192.168.0.3") };
const BORROWED_R2 = {
  ...to(R2, "192.168.0.3"),
  types: ["REMOTE_WORKLOAD" as const],
  ip_pool_type: "VXLAN" as const,
  borrowed: true,
};
const BORROWED_R1 = { ...BORROWED_R2, ...to(R1, "192.168.0.2") };
const ON_R2 = { ...WORKLOAD_R1, ...to(R2, "192.168.0.3") };

sequence(
  "an address that another host borrowed is routed to that",
  [
    {
      name: "from one remote host by another",
      kvs: [...without(REMOTE, BLOCK_1), ...R2_KVS, block("10.0.1.0/29", R1, { 2: R2 })],
      expect: {
        others: {
          routes: routes({
            ...HOST_ROUTES,
            ...R2_ROUTE,
            ...POOL_ROUTE,
            "10.0.1.0/29": WORKLOAD_R1,
            "10.0.1.2/32": BORROWED_R2,
          }),
          vteps: { ...VTEP_1, ...vtep(R2, "192.168.0.3", "10.0.2.0", "66:40:18:59:1f:16") },
        },
      },
    },
    {
      name: "the other way round",
      kvs: [...without(REMOTE, BLOCK_1), ...R2_KVS, block("10.0.1.0/29", R2, { 2: R1 })],
      expect: {
        others: {
          routes: routes({
            ...HOST_ROUTES,
            ...R2_ROUTE,
            ...POOL_ROUTE,
            "10.0.1.0/29": ON_R2,
            "10.0.1.2/32": BORROWED_R1,
          }),
        },
      },
    },
    {
      name: "the block's owner has no node",
      kvs: [...without(REMOTE, BLOCK_1, NODE_1), ...R2_KVS, block("10.0.1.0/29", R1, { 2: R2 })],
      expect: {
        others: {
          routes: routes({
            "192.168.0.1/32": hostRoute(HOST, "192.168.0.1"),
            ...R2_ROUTE,
            ...POOL_ROUTE,
            "10.0.1.0/29": { ...WORKLOAD_R1, dst_node_ip: "" },
            "10.0.1.2/32": BORROWED_R2,
          }),
        },
      },
    },
  ],
  VXLAN,
);

const LOCAL_BLOCK = block("10.0.0.0/29", HOST, { 2: R1 });
const ON_HOST = { types: ["LOCAL_WORKLOAD" as const], ip_pool_type: "VXLAN" as const, ...to(HOST, "192.168.0.1") };
const LENT = {
  types: ["REMOTE_WORKLOAD" as const, "LOCAL_WORKLOAD" as const],
  ip_pool_type: "VXLAN" as const,
  borrowed: true,
  ...to(R1, "192.168.0.2"),
};
const crossSubnet = pool("10.0.0.0/16", { vxlan_mode: "cross-subnet" });
const wide = (local: string, remote: string): State => [
  bgpNode(HOST, local),
  bgpNode(R1, remote),
  crossSubnet,
  LOCAL_BLOCK,
];

sequence(
  "a block of this host, with an address lent to another",
  [
    {
      name: "always encapsulated",
      kvs: [...HOST_KVS, POOL, LOCAL_BLOCK, tunnel(HOST, "10.0.0.0")],
      expect: {
        others: {
          routes: routes({ ...HOST_ROUTES, ...POOL_ROUTE, "10.0.0.0/29": ON_HOST, "10.0.0.2/32": LENT }),
          vteps: vtep(HOST, "192.168.0.1", "10.0.0.0", "66:48:f6:56:dc:f1"),
        },
      },
    },
    {
      name: "cross-subnet, in one subnet",
      kvs: wide("192.168.0.1/24", "192.168.0.2/24"),
      expect: {
        others: {
          routes: routes({
            ...HOST_ROUTES,
            ...POOL_ROUTE,
            "10.0.0.0/29": { ...ON_HOST, same_subnet: true },
            "10.0.0.2/32": { ...LENT, same_subnet: true },
          }),
        },
      },
    },
    {
      name: "cross-subnet, alone in its subnet",
      kvs: wide("192.168.0.1/32", "192.168.0.2"),
      expect: {
        others: {
          routes: routes({
            ...HOST_ROUTES,
            ...POOL_ROUTE,
            "10.0.0.0/29": { ...ON_HOST, same_subnet: true },
            "10.0.0.2/32": LENT,
          }),
        },
      },
    },
  ],
  VXLAN,
);

const wl = workload("w", { ipv4_nets: ["10.0.0.5/32"] });

sequence(
  "a workload of this host has a route of its own, with or without a block",
  [
    {
      name: "without",
      kvs: [...HOST_KVS, wl],
      expect: {
        others: {
          routes: routes({
            ...HOST_ROUTES,
            "10.0.0.5/32": { types: ["LOCAL_WORKLOAD"], local_workload: true, ...to(HOST, "192.168.0.1") },
          }),
        },
      },
    },
    {
      name: "in a block of this host",
      kvs: [...HOST_KVS, POOL, block("10.0.0.0/29", HOST), wl],
      expect: {
        others: {
          routes: routes({
            ...HOST_ROUTES,
            ...POOL_ROUTE,
            "10.0.0.0/29": ON_HOST,
            "10.0.0.5/32": { ...ON_HOST, local_workload: true },
          }),
        },
      },
    },
    {
      name: "in a block of another",
      kvs: [...HOST_KVS, POOL, block("10.0.0.0/29", R1), wl],
      expect: {
        others: {
          routes: routes({
            ...HOST_ROUTES,
            ...POOL_ROUTE,
            "10.0.0.0/29": WORKLOAD_R1,
            "10.0.0.5/32": {
              ...ON_HOST,
              types: ["REMOTE_WORKLOAD", "LOCAL_WORKLOAD"],
              local_workload: true,
              borrowed: true,
            },
          }),
        },
      },
    },
  ],
  VXLAN,
);

const single = block("10.0.0.0/32", R1);

sequence(
  "networks that are several things at once",
  [
    {
      name: "a pool of one address that is a block",
      kvs: [...HOST_KVS, pool("10.0.0.0/32", { vxlan_mode: "always" }), single],
      expect: { others: { routes: routes({ ...HOST_ROUTES, "10.0.0.0/32": WORKLOAD_R1 }) } },
    },
    {
      name: "a block without a pool",
      kvs: [...HOST_KVS, single],
      expect: {
        others: { routes: routes({ ...HOST_ROUTES, "10.0.0.0/32": { ...WORKLOAD_R1, ip_pool_type: "NONE" } }) },
      },
    },
    {
      name: "hosts in a masqueraded pool that is disabled",
      kvs: [...HOST_KVS, pool("192.168.0.0/24", { masquerade: true, disabled: true })],
      expect: {
        others: {
          routes: routes({
            "192.168.0.0/24": { ip_pool_type: "NO_ENCAP", nat_outgoing: true },
            "192.168.0.1/32": { ...hostRoute(HOST, "192.168.0.1"), ip_pool_type: "NO_ENCAP", nat_outgoing: true },
            "192.168.0.2/32": { ...hostRoute(R1, "192.168.0.2"), ip_pool_type: "NO_ENCAP", nat_outgoing: true },
          }),
        },
      },
    },
    {
      name: "a host's address in a block: no workload",
      kvs: [bgpNode(R1, "10.0.1.3/32"), POOL, BLOCK_1],
      expect: {
        others: {
          routes: routes({
            ...POOL_ROUTE,
            "10.0.1.0/29": { ...WORKLOAD_R1, dst_node_ip: "10.0.1.3" },
            "10.0.1.3/32": { types: ["REMOTE_HOST"], ip_pool_type: "VXLAN", ...to(R1, "10.0.1.3") },
          }),
        },
      },
    },
    {
      name: "a tunnel's end in a block: no workload",
      kvs: [bgpNode(R1, "192.168.0.2/32", { ipv4VXLANTunnelAddr: "10.0.1.0" }), POOL, BLOCK_1],
      expect: {
        others: {
          routes: routes({
            "192.168.0.2/32": hostRoute(R1, "192.168.0.2"),
            ...POOL_ROUTE,
            "10.0.1.0/29": WORKLOAD_R1,
            "10.0.1.0/32": {
              ...WORKLOAD_R1,
              types: ["REMOTE_TUNNEL"],
              tunnel_type: { ipip: false, vxlan: true, wireguard: false },
            },
          }),
        },
      },
    },
    {
      name: "a tunnel's end that is a whole block: both",
      kvs: [bgpNode(R1, "192.168.0.2/32", { ipv4VXLANTunnelAddr: "10.0.0.0" }), POOL, single],
      expect: {
        others: {
          routes: routes({
            "192.168.0.2/32": hostRoute(R1, "192.168.0.2"),
            ...POOL_ROUTE,
            "10.0.0.0/32": {
              ...WORKLOAD_R1,
              types: ["REMOTE_WORKLOAD", "REMOTE_TUNNEL"],
              tunnel_type: { ipip: false, vxlan: true, wireguard: false },
            },
          }),
        },
      },
    },
    {
      name: "pools for load balancers, alone and mixed",
      kvs: [
        pool("10.1.0.0/16", { vxlan_mode: "always", masquerade: true, allowed_uses: ["LoadBalancer"] }),
        pool("10.2.0.0/16", { vxlan_mode: "always", allowed_uses: ["LoadBalancer", "Workload"] }),
      ],
      expect: {
        others: {
          routes: routes({ "10.1.0.0/16": { nat_outgoing: true }, "10.2.0.0/16": { ip_pool_type: "VXLAN" } }),
        },
      },
    },
    {
      name: "all tunnels of a node",
      kvs: [
        node(R1, {
          bgp: { ipv4Address: "192.168.0.2/32", ipv4IPIPTunnelAddr: "10.0.1.1" },
          wireguard: { interfaceIPv4Address: "10.0.1.1", interfaceIPv6Address: "fd00::1" },
          ipv6VXLANTunnelAddr: "bad",
        }),
      ],
      expect: {
        others: {
          routes: routes({
            "192.168.0.2/32": hostRoute(R1, "192.168.0.2"),
            "10.0.1.1/32": {
              ...to(R1, "192.168.0.2"),
              types: ["REMOTE_TUNNEL"],
              tunnel_type: { ipip: true, vxlan: false, wireguard: true },
            },
            "fd00::1/128": {
              dst_node_name: R1,
              types: ["REMOTE_TUNNEL"],
              tunnel_type: { ipip: false, vxlan: false, wireguard: true },
            },
          }),
        },
      },
    },
    {
      name: "all kinds of addresses of a node",
      kvs: [
        node(R1, {
          addresses: [
            { address: "1.2.3.4", type: "InternalIP" },
            { address: "1.2.3.4" },
            { address: "1.2.3.4/19" },
            { address: "host.example" },
            { address: "feed:dead:beef::/64", type: "ExternalIP" },
          ],
        }),
      ],
      expect: {
        others: {
          routes: routes({
            "1.2.3.4/32": hostRoute(R1, "1.2.3.4"),
            "feed:dead:beef::/128": hostRoute(R1, "feed:dead:beef::"),
          }),
        },
      },
    },
  ],
  VXLAN,
);

const DUAL: State = [
  node(R1, { bgp: { ipv4Address: "192.168.0.2/32", ipv6Address: "fd00::2/128" } }),
  tunnel(R1, "10.0.1.0"),
  tunnel(R1, "fd01::1", "IPv6VXLANTunnelAddr"),
];
const V4_FIELDS = { mac: R1_MAC, ipv4_addr: "10.0.1.0", parent_device_ip: "192.168.0.2" };
const V6_FIELDS = { mac_v6: "66:a0:68:c9:4c:79", ipv6_addr: "fd01::1", parent_device_ipv6: "fd00::2" };
const NO_V4 = { mac: "", ipv4_addr: "", parent_device_ip: "" };
const NO_V6 = { mac_v6: "", ipv6_addr: "", parent_device_ipv6: "" };
const end = (fields: object): unknown => ({ [R1]: { msg: "VXLANTunnelEndpointUpdate", node: R1, ...fields } });

sequence(
  "a family without one of its parts leaves the other alone",
  [
    { name: "both", kvs: DUAL, expect: { others: { vteps: end({ ...V4_FIELDS, ...V6_FIELDS }) } } },
    {
      name: "no IPv4 node address",
      kvs: [node(R1, { bgp: { ipv6Address: "fd00::2/128" } }), ...DUAL.slice(1)],
      expect: { others: { vteps: end({ ...NO_V4, ...V6_FIELDS }) } },
    },
    {
      name: "no IPv6 tunnel address",
      kvs: DUAL.slice(0, 2),
      expect: { others: { vteps: end({ ...V4_FIELDS, ...NO_V6 }) } },
    },
  ],
  VXLAN,
);

const onR2 = workload("w2", { ipv4_nets: ["10.0.0.5/32"] }, R2);
const onR1 = workload("w1", { ipv4_nets: ["10.0.0.5/32"] }, R1);
const THREE: State = [...HOST_KVS, bgpNode(R2, "192.168.0.3/32"), POOL];

sequence(
  "routes may come from all workloads instead of from blocks",
  [
    {
      name: "on the second host",
      kvs: [...THREE, onR2, BLOCK_1],
      expect: { others: { routes: routes({ ...HOST_ROUTES, ...R2_ROUTE, ...POOL_ROUTE, "10.0.0.5/32": ON_R2 }) } },
    },
    {
      name: "on the first too: the lower name",
      kvs: [...THREE, onR2, onR1],
      expect: {
        others: { routes: routes({ ...HOST_ROUTES, ...R2_ROUTE, ...POOL_ROUTE, "10.0.0.5/32": WORKLOAD_R1 }) },
      },
    },
  ],
  { ...VXLAN, routeSource: "WorkloadIPs" },
);

test("routes are computed only where something needs them", () => {
  const count = (config: ConstructorParameters<typeof Rig>[1]): number => {
    const rig = new Rig(HOST, config);
    rig.go(REMOTE);
    rig.flush();
    return rig.state.routes.size;
  };
  assert.equal(count({}), 0);
  assert.equal(count({ ipipEnabled: true }), 4);
  assert.equal(count({ ipipEnabled: true, programClusterRoutes: "Disabled" }), 0);
  assert.equal(count({ wireguardEnabled: true }), 4);
  assert.equal(count({ noEncapNeeded: true }), 4);
});

test("a route that did not change is not sent again", () => {
  const rig = new Rig(HOST, VXLAN);
  rig.go(REMOTE);
  rig.flush();
  rig.go([...without(REMOTE, BLOCK_1), block("10.0.1.0/29", R1, { 3: R1 })]);
  rig.flush();
  assert.deepEqual(rig.messages, []);
});
