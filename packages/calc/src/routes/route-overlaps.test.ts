import assert from "node:assert/strict";
import { test } from "node:test";
import { HOST, Rig, type State } from "../testing/harness.ts";
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
  VXLAN,
  without,
  WORKLOAD_R1,
} from "./testing/route-fixtures.ts";

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
