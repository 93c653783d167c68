import type { Family } from "@bulrush/ip";
import { type NodeResource, type NodeSpec, isObject } from "@bulrush/model";

/** The devices that have an address of their own, in the order in which they are looked after. */
export const TUNNEL_KINDS = ["wireguard", "wireguardV6", "ipip", "vxlan", "vxlanV6"] as const;
export type TunnelKind = (typeof TUNNEL_KINDS)[number];

interface TunnelFacts {
  readonly family: Family;
  /** Which mode of a pool asks for the device; WireGuard takes every pool. */
  readonly mode: "ipipMode" | "vxlanMode" | undefined;
  readonly handle: string;
  /** The field of the node. */
  read(spec: NodeSpec): string | undefined;
  write(spec: NodeSpec, address: string | undefined): NodeSpec;
}

const FACTS: Readonly<Record<TunnelKind, TunnelFacts>> = {
  wireguard: {
    family: 4,
    mode: undefined,
    handle: "wireguard",
    read: ({ wireguard }) => wireguard?.interfaceIPv4Address,
    write: (spec, address) => withPart(spec, "wireguard", "interfaceIPv4Address", address),
  },
  wireguardV6: {
    family: 6,
    mode: undefined,
    handle: "wireguard-v6",
    read: ({ wireguard }) => wireguard?.interfaceIPv6Address,
    write: (spec, address) => withPart(spec, "wireguard", "interfaceIPv6Address", address),
  },
  ipip: {
    family: 4,
    mode: "ipipMode",
    handle: "ipip",
    read: ({ bgp }) => bgp?.ipv4IPIPTunnelAddr,
    write: (spec, address) => withPart(spec, "bgp", "ipv4IPIPTunnelAddr", address),
  },
  vxlan: {
    family: 4,
    mode: "vxlanMode",
    handle: "vxlan",
    read: ({ ipv4VXLANTunnelAddr }) => ipv4VXLANTunnelAddr,
    write: (spec, address) => withField(spec, "ipv4VXLANTunnelAddr", address) as NodeSpec,
  },
  vxlanV6: {
    family: 6,
    mode: "vxlanMode",
    handle: "vxlan-v6",
    read: ({ ipv6VXLANTunnelAddr }) => ipv6VXLANTunnelAddr,
    write: (spec, address) => withField(spec, "ipv6VXLANTunnelAddr", address) as NodeSpec,
  },
};

export function tunnelFacts(kind: TunnelKind): Pick<TunnelFacts, "family" | "mode"> {
  return FACTS[kind];
}

/** The name under which IPAM knows the address of a device. */
export function tunnelHandle(kind: TunnelKind, node: string): string {
  return `${FACTS[kind].handle}-tunnel-addr-${node}`;
}

/** What IPAM notes beside the address: whose it is, and what for. */
export function tunnelAttributes(kind: TunnelKind, node: string): Readonly<Record<string, string>> {
  return { node, type: `${kind}TunnelAddress` };
}

/** The address that a node says it has; "" for none. */
export function tunnelAddressOf(kind: TunnelKind, node: NodeResource): string {
  return (isObject(node.spec) ? FACTS[kind].read(node.spec) : undefined) ?? "";
}

/** The node with another address, or with none for "". A part of its spec that becomes empty goes. */
export function withTunnelAddress(kind: TunnelKind, node: NodeResource, address: string): NodeResource {
  const spec: NodeSpec = isObject(node.spec) ? node.spec : {};
  return { ...node, spec: FACTS[kind].write(spec, address === "" ? undefined : address) };
}

function withPart(spec: NodeSpec, part: "bgp" | "wireguard", field: string, address: string | undefined): NodeSpec {
  const whole = withField(spec[part] ?? {}, field, address);
  return withField(spec, part, Object.keys(whole).length > 0 ? whole : undefined) as NodeSpec;
}

function withField(object: object, field: string, value: unknown): object {
  const { [field]: _, ...rest } = object as Record<string, unknown>;
  return value === undefined ? rest : { ...rest, [field]: value };
}
