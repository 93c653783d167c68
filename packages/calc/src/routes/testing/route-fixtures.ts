import assert from "node:assert/strict";
import type { Block, IPPool, NodeResource } from "@bulrush/model";
import type { RouteUpdate } from "@bulrush/proto";
import { HOST, type KV, type State } from "../../testing/harness.ts";

export const R1: string = "remotehostname";
export const R2: string = "remotehostname2";
export const VXLAN: Readonly<Record<string, boolean>> = { vxlanEnabled: true, vxlanEnabledV6: true };

export function node(name: string, spec: NodeResource["spec"]): KV {
  const value = { apiVersion: "projectcalico.org/v3", kind: "Node", metadata: { name }, ...(spec && { spec }) };
  return { key: { type: "Resource", kind: "Node", namespace: "", name }, value };
}

export const bgpNode = (name: string, ipv4Address: string, more: object = {}): KV =>
  node(name, { bgp: { ipv4Address }, ...more });

export function pool(cidr: string, value: Partial<IPPool> = {}): KV {
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
export function block(cidr: string, owner: string, borrowed: Readonly<Record<number, string>> = {}): KV {
  const attributes = [
    { secondary: { node: owner } },
    ...Object.values(borrowed).map((name) => ({ secondary: { node: name } })),
  ];
  const allocations: (number | null)[] = [0, null, null, null, null, null, null, null];
  for (const [i, ordinal] of Object.keys(borrowed).entries()) allocations[Number(ordinal)] = i + 1;
  const value: Block = { cidr, affinity: `host:${owner}`, allocations, unallocated: [], attributes };
  return { key: { type: "Block", cidr }, value };
}

export const tunnel = (hostname: string, value: string, name = "IPv4VXLANTunnelAddr"): KV => ({
  key: { type: "HostConfig", hostname, name },
  value,
});

/** What differs from a plain route; the destination comes from its place. */
type RouteText = Partial<RouteUpdate>;

export function routes(expected: Readonly<Record<string, RouteText>>): Record<string, unknown> {
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

export function vtep(name: string, ipv4: string, tunnelAddress: string, mac: string): Record<string, unknown> {
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

export const to = (name: string, ip: string): RouteText => ({ dst_node_name: name, dst_node_ip: ip });
export const hostRoute = (name: string, ip: string): RouteText => ({
  ...to(name, ip),
  types: [name === HOST ? "LOCAL_HOST" : "REMOTE_HOST"],
});
export const WORKLOAD_R1: RouteText = { types: ["REMOTE_WORKLOAD"], ip_pool_type: "VXLAN", ...to(R1, "192.168.0.2") };

export const HOST_KVS: State = [bgpNode(HOST, "192.168.0.1/32"), bgpNode(R1, "192.168.0.2/32")];
export const HOST_ROUTES: Readonly<Record<string, RouteText>> = {
  "192.168.0.1/32": hostRoute(HOST, "192.168.0.1"),
  "192.168.0.2/32": hostRoute(R1, "192.168.0.2"),
};
export const POOL: KV = pool("10.0.0.0/16", { vxlan_mode: "always", masquerade: false });
export const POOL_ROUTE: Record<string, RouteText> = { "10.0.0.0/16": { ip_pool_type: "VXLAN" } };
export const TUNNEL_1: KV = tunnel(R1, "10.0.1.0");
export const R1_MAC: string = "66:3e:ca:a4:db:65";
export const BLOCK_1: KV = block("10.0.1.0/29", R1);
export const VTEP_1: Record<string, unknown> = vtep(R1, "192.168.0.2", "10.0.1.0", R1_MAC);
export const REMOTE: State = [...HOST_KVS, POOL, BLOCK_1, TUNNEL_1];
export const without = (state: State, ...gone: readonly KV[]): State => state.filter((kv) => !gone.includes(kv));
export const NODE_1: KV = HOST_KVS[1] ?? assert.fail();
export const R2_ROUTE: Readonly<Record<string, RouteText>> = { "192.168.0.3/32": hostRoute(R2, "192.168.0.3") };
export const ON_R2: RouteText = { ...WORKLOAD_R1, ...to(R2, "192.168.0.3") };
