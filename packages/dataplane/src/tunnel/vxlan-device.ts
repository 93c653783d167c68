import { parseCidr } from "@bulrush/ip";
import type { InterfaceAddress, Link, RouteOperation, VxlanLink } from "@bulrush/netlink";
import type { Family } from "../render/statements.ts";

/** The tunnel device of each family. */
export const VXLAN_DEVICE = { 4: "vxlan.calico", 6: "vxlan-v6.calico" } as const;

/** A tunnel device as wanted, with the one address that this host has in the tunnel. */
export interface VxlanDevice extends VxlanLink {
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  readonly local: string;
  /** Index of the device that has `local`; missing where that is the loopback device, by which nothing leaves. */
  readonly parent?: number;
  /** Without a length. */
  readonly address: string;
}

/** What has to be done to a device: all at once where it exists, else first to make it. */
export type DevicePlan =
  | { readonly kind: "make"; readonly operations: readonly RouteOperation[] }
  | { readonly kind: "adjust"; readonly operations: readonly RouteOperation[]; readonly index: number };

/**
 * What makes the device as it should be. What cannot be changed on a live device (kind, identifier, port, addresses,
 * parent, MAC) makes it be made anew.
 *
 *     missing ──make──> there ──adjust: MTU, up, its one address──> as wanted
 *        ^                │ other kind, VNI, port, local address, parent, MAC, mode
 *        └───delete───────┘
 */
export function planVxlanDevice(
  wanted: VxlanDevice,
  link: Link | undefined,
  addresses: readonly InterfaceAddress[],
  family: Family,
): DevicePlan {
  const { address, ...vxlan } = wanted;
  if (link === undefined || !isSame(wanted, link)) {
    const make: RouteOperation = { kind: "add-vxlan", vxlan: { ...vxlan, up: true } };
    return { kind: "make", operations: link === undefined ? [make] : [deletion(wanted.name), make] };
  }
  const operations: RouteOperation[] = [];
  const mtu = link.mtu === wanted.mtu ? {} : { mtu: wanted.mtu };
  const up = link.up ? {} : { up: true };
  if (link.mtu !== wanted.mtu || !link.up)
    operations.push({ kind: "change-link", link: link.index, change: { ...mtu, ...up } });
  const full = `${address}/${family === 4 ? 32 : 128}`;
  let present = false;
  const stale: RouteOperation[] = [];
  for (const known of addresses) {
    if (known.device !== link.index || parseCidr(known.address)?.family !== family) continue;
    if (known.address === full) present = true;
    // The kernel's own, which IPv6 needs.
    else if (!known.address.startsWith("fe80:")) stale.push({ kind: "delete-address", address: known });
  }
  if (!present)
    operations.push({ kind: "replace-address", address: { device: link.index, address: full, noDad: true } });
  // Last: with the last IPv4 address of a device, the kernel drops all of its routes.
  operations.push(...stale);
  return { kind: "adjust", operations, index: link.index };
}

export function deletion(name: string): RouteOperation {
  return { kind: "delete-link", link: name };
}

function isSame(wanted: VxlanDevice, { mac, vxlan }: Link): boolean {
  return (
    vxlan !== undefined &&
    mac === wanted.mac &&
    vxlan.vni === wanted.vni &&
    vxlan.port === wanted.port &&
    vxlan.local === wanted.local &&
    vxlan.parent === wanted.parent &&
    vxlan.group === undefined &&
    !vxlan.external &&
    !vxlan.gbp &&
    !vxlan.l2miss
  );
}
