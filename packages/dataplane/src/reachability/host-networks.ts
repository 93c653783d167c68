import { type Cidr, formatAddress, isHostCidr, parseCidr } from "@bulrush/ip";
import type { InterfaceAddress, Link } from "@bulrush/netlink";
import type { Interfaces } from "../manager/interfaces.ts";
import type { Family } from "../render/statements.ts";

/** A network that a device of this host is in, with all that speaking there takes. */
export interface HostNetwork {
  readonly family: Family;
  readonly device: number;
  readonly name: string;
  readonly mac: string;
  /** An address of the device; in IPv6 its link-local one, if it has any. */
  readonly from: string;
  /** Networks, with more than one address each. */
  readonly subnets: readonly Cidr[];
}

const NO_MAC = "00:00:00:00:00:00";

/**
 * The networks of the devices that are up, that are Ethernet's, and that `isOurs` does not say are part of this dataplane.
 * Interfaces whose addresses do not count are not among them.
 */
export function hostNetworks(
  interfaces: Interfaces,
  links: readonly Link[],
  addresses: readonly InterfaceAddress[],
  isOurs: (name: string) => boolean,
): HostNetwork[] {
  const networks: HostNetwork[] = [];
  for (const { index: device, mac, name } of links) {
    const known = interfaces.get(name);
    if (mac === undefined || mac === NO_MAC || known?.up !== true || known.index !== device || isOurs(name)) continue;
    for (const family of [4, 6] as const) {
      const subnets: Cidr[] = [];
      let from: string | undefined;
      for (const { address, device: of } of addresses) {
        const cidr = of === device ? parseCidr(address) : undefined;
        if (cidr?.family !== family) continue;
        const text = formatAddress(cidr);
        if (isLinkLocal(text)) from = text;
        else if (known.addresses.has(text)) {
          from ??= text;
          if (!isHostCidr(cidr)) subnets.push(cidr);
        }
      }
      if (from !== undefined && subnets.length > 0) networks.push({ family, device, name, mac, from, subnets });
    }
  }
  return networks;
}

function isLinkLocal(address: string): boolean {
  return address.startsWith("fe80:");
}
