import type { Block, IPPool, NodeSpec } from "@bulrush/model";
import type { KV } from "../harness.ts";
import type { Dice } from "./dice.ts";
import { HOSTS, randomLabels, V4, V6 } from "./random-endpoint.ts";

const MODES = ["", "", "always", "cross-subnet"] as const;

export function randomPool(d: Dice): KV {
  const cidr = d.pick(["10.0.0.0/16", "10.0.0.0/24", "192.168.0.0/24", "fd00::/64", "10.0.1.1/32"]);
  const isV4 = !cidr.includes(":");
  const ipip_mode = isV4 ? d.pick(MODES) : "";
  const value: IPPool = {
    cidr,
    ipip: ipip_mode === "" ? "" : "tunl0",
    ipip_mode,
    vxlan_mode: ipip_mode === "" ? d.pick(MODES) : "",
    masquerade: d.chance(0.5),
    ipam: d.chance(0.5),
    disabled: d.chance(0.2),
    disableBGPExport: d.chance(0.2),
    assignment_mode: d.pick(["Automatic", "Manual"]),
    allowed_uses: d.pick([["Workload", "Tunnel"], ["Workload"], ["LoadBalancer"], ["Workload", "LoadBalancer"], []]),
  };
  return { key: { type: "IPPool", cidr }, value };
}

export function randomBlock(d: Dice): KV {
  const cidr = d.pick(["10.0.0.0/30", "10.0.0.8/30", "10.0.1.1/32", "fd00::/126"]);
  const attributes = d.many(2, () => ({
    handle_id: d.pick([null, "handle"]),
    ...(d.chance(0.9) && { secondary: { pod: "x", ...(d.chance(0.8) && { node: d.pick(HOSTS) }) } }),
  }));
  const size = cidr.endsWith("/32") ? 1 : 4;
  const value: Block = {
    cidr,
    ...(d.chance(0.9) && { affinity: d.pick([`host:${d.pick(HOSTS)}`, "virtual:load-balancer", null]) }),
    allocations: Array.from({ length: size }, () =>
      attributes.length > 0 && d.chance(0.5) ? d.below(attributes.length) : null,
    ),
    unallocated: [],
    attributes,
    ...(d.chance(0.3) && { sequenceNumber: d.below(9), sequenceNumberForAllocation: { "0": d.below(9) } }),
    ...(d.chance(0.1) && { deleted: false }),
  };
  return { key: { type: "Block", cidr }, value };
}

export function randomNode(d: Dice): KV {
  const i = d.below(HOSTS.length);
  const name = HOSTS[i] ?? "";
  const tunnel = (p: number): string | undefined => (d.chance(p) ? d.pick(V4) : undefined);
  const [ipip, vxlan, wg4] = [tunnel(0.3), tunnel(0.3), tunnel(0.2)];
  const bgp = {
    ...(d.chance(0.8) && { ipv4Address: `192.168.0.${i + 1}/${d.pick([24, 24, 32, 30])}` }),
    ...(d.chance(0.4) && { ipv6Address: `fd02::${i + 1}/${d.pick([64, 128])}` }),
    ...(d.chance(0.3) && { asNumber: 64_512 }),
    ...(ipip !== undefined && { ipv4IPIPTunnelAddr: ipip }),
  };
  const spec: NodeSpec = {
    ...(d.chance(0.9) && Object.keys(bgp).length > 0 && { bgp }),
    ...(vxlan !== undefined && { ipv4VXLANTunnelAddr: vxlan }),
    ...(d.chance(0.2) && { ipv6VXLANTunnelAddr: d.pick(V6) }),
    ...((wg4 !== undefined || d.chance(0.2)) && {
      wireguard: {
        ...(wg4 !== undefined && { interfaceIPv4Address: wg4 }),
        ...(d.chance(0.5) && { interfaceIPv6Address: d.pick(V6) }),
      },
    }),
    ...(d.chance(0.6) && {
      addresses: d
        .some([`192.168.1.${i + 1}`, `192.168.0.${i + 1}`, "192.168.1.9", `fd02::1:${i + 1}`], 3)
        .map((address) => ({ address, type: d.pick(["InternalIP", "ExternalIP", "CalicoNodeIP"]) })),
    }),
  };
  const metadata = { name, labels: Object.fromEntries(randomLabels(d)) };
  return {
    key: { type: "Resource", kind: "Node", namespace: "", name },
    value: { apiVersion: "projectcalico.org/v3", kind: "Node", metadata, spec },
  };
}

export function randomWireguard(d: Dice): KV {
  const key = (): string => `${d.pick(["A", "B"]).repeat(42)}A=`;
  const value = {
    ...(d.chance(0.7) && { publicKey: d.chance(0.8) ? key() : "" }),
    ...(d.chance(0.7) && { interfaceIPv4Addr: d.pick(V4) }),
    ...(d.chance(0.5) && { publicKeyV6: d.chance(0.8) ? key() : "" }),
    ...(d.chance(0.5) && { interfaceIPv6Addr: d.pick(V6) }),
  };
  return { key: { type: "Wireguard", hostname: d.pick(HOSTS) }, value };
}

export function randomSetting(d: Dice): KV {
  if (d.chance(0.4)) return { key: { type: "ReadyFlag" }, value: d.chance(0.7) };
  const name = d.pick(["LogSeverityScreen", "Mtu"]);
  const value = d.pick(["a", "b", ""]);
  if (d.chance(0.5)) return { key: { type: "GlobalConfig", name }, value };
  return { key: { type: "HostConfig", hostname: d.pick(HOSTS), name }, value };
}

/** A setting of a host that says where its tunnel ends. */
export function randomTunnelEnd(d: Dice): KV {
  const [name, value] = d.pick([
    ["IPv4VXLANTunnelAddr", d.pick(V4)],
    ["IPv4VXLANTunnelAddr", d.pick(V4)],
    ["IPv6VXLANTunnelAddr", d.pick(V6)],
    ["VXLANTunnelMACAddr", "00:0a:74:9d:68:16"],
    ["VXLANTunnelMACAddrV6", "00:0a:74:9d:68:17"],
  ] as const);
  return { key: { type: "HostConfig", hostname: d.pick(HOSTS), name }, value };
}
