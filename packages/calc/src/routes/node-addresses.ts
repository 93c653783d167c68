import {
  type Address,
  type Cidr,
  cidrOf,
  formatAddress,
  formatCidr,
  maskCidr,
  parseAddress,
  parseCidr,
} from "@bulrush/ip";
import type { NodeResource } from "@bulrush/model";

/** Tunnel addresses of a node, in the order in which they stand for a route. */
export const TUNNEL_KINDS = ["wireguard", "ipip", "vxlan"] as const;
export type TunnelKind = (typeof TUNNEL_KINDS)[number];

interface TunnelAddress {
  readonly kind: TunnelKind;
  /** /32 or /128. */
  readonly cidr: Cidr;
}

/** What routing needs of a node. */
export interface NodeAddresses {
  /** Where other nodes reach it, by family; "" when unknown. */
  readonly ipv4: string;
  readonly ipv6: string;
  /** Its own network, by family, as far as its BGP spec says it. */
  readonly subnet4: Cidr | undefined;
  readonly subnet6: Cidr | undefined;
  /** All its addresses, as networks of one; none twice. */
  readonly hosts: readonly Cidr[];
  readonly tunnels: readonly TunnelAddress[];
}

/**
 * The addresses that a node is reached by come from its BGP spec if that has any, else from its first internal, else
 * its first external address of the family. What cannot be read is passed over.
 */
export function nodeAddresses(node: NodeResource): NodeAddresses {
  const spec = node.spec ?? {};
  const bgp4 = readNetwork(spec.bgp?.ipv4Address, 4);
  const bgp6 = readNetwork(spec.bgp?.ipv6Address, 6);
  const hasBgp = bgp4 !== undefined || bgp6 !== undefined;
  const main4 = hasBgp ? bgp4 : fallback(node, 4);
  const main6 = hasBgp ? bgp6 : fallback(node, 6);
  const hosts = new Map<string, Cidr>();
  const addHost = (address: Address | undefined): void => {
    if (address === undefined || isZero(address)) return;
    const cidr = hostCidr(address);
    hosts.set(formatCidr(cidr), cidr);
  };
  addHost(main4);
  addHost(main6);
  for (const entry of spec.addresses ?? []) addHost(readNetwork(entry.address));
  return {
    ipv4: main4 === undefined ? "" : formatAddress(main4),
    ipv6: main6 === undefined ? "" : formatAddress(main6),
    subnet4: bgp4 && maskCidr(bgp4),
    subnet6: bgp6 && maskCidr(bgp6),
    hosts: [...hosts.values()],
    tunnels: tunnelsOf(node),
  };
}

function tunnelsOf(node: NodeResource): TunnelAddress[] {
  const spec = node.spec ?? {};
  const out: TunnelAddress[] = [];
  for (const [kind, text] of [
    ["wireguard", spec.wireguard?.interfaceIPv4Address],
    ["wireguard", spec.wireguard?.interfaceIPv6Address],
    ["ipip", spec.bgp?.ipv4IPIPTunnelAddr],
    ["vxlan", spec.ipv4VXLANTunnelAddr],
    ["vxlan", spec.ipv6VXLANTunnelAddr],
  ] as const) {
    const address = text ? parseAddress(text) : undefined;
    if (address !== undefined && !isZero(address)) out.push({ kind, cidr: cidrOf(address) });
  }
  return out;
}

function readNetwork(text: string | undefined, family?: 4 | 6): Cidr | undefined {
  const cidr = text ? parseCidr(text) : undefined;
  return cidr === undefined || (family !== undefined && cidr.family !== family) ? undefined : cidr;
}

function fallback(node: NodeResource, family: 4 | 6): Cidr | undefined {
  for (const type of ["InternalIP", "ExternalIP"])
    for (const entry of node.spec?.addresses ?? []) {
      const cidr = entry.type === type ? readNetwork(entry.address, family) : undefined;
      if (cidr !== undefined) return cidr;
    }
  return undefined;
}

function hostCidr(address: Address): Cidr {
  return cidrOf({ family: address.family, words: address.words });
}

function isZero(address: Address): boolean {
  return address.words.every((word) => word === 0);
}
