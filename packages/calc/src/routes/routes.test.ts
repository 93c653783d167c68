import { HOST, type State } from "../testing/harness.ts";
import { workload } from "../testing/fixtures.ts";
import { sequence } from "../testing/sequence.ts";
import {
  bgpNode,
  block,
  BLOCK_1,
  HOST_KVS,
  HOST_ROUTES,
  hostRoute,
  node,
  NODE_1,
  ON_R2,
  pool,
  POOL,
  POOL_ROUTE,
  R1,
  R1_MAC,
  R2,
  R2_ROUTE,
  REMOTE,
  routes,
  to,
  tunnel,
  TUNNEL_1,
  vtep,
  VTEP_1,
  VXLAN,
  without,
  WORKLOAD_R1,
} from "./testing/route-fixtures.ts";

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
const BORROWED_R2 = {
  ...to(R2, "192.168.0.3"),
  types: ["REMOTE_WORKLOAD" as const],
  ip_pool_type: "VXLAN" as const,
  borrowed: true,
};
const BORROWED_R1 = { ...BORROWED_R2, ...to(R1, "192.168.0.2") };

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
