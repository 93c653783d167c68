import type { Interfaces } from "../manager/interfaces.ts";
import type { Family } from "../render/statements.ts";

/** Where no interface tells: what fits the common clouds. */
const FALLBACK_MTU = 1460;

/** Bytes that VXLAN puts around a packet: outer Ethernet 14, IP 20 or 40, UDP 8, VXLAN 8 (RFC 7348). */
const VXLAN_OVERHEAD = { 4: 50, 6: 70 } as const;

/** The lowest MTU of the interfaces that are up and whose names match. */
export function hostMtu(interfaces: Interfaces, pattern: RegExp): number {
  let mtu: number | undefined;
  for (const known of interfaces.all())
    if (known.up && pattern.test(known.name) && (mtu === undefined || known.mtu < mtu)) mtu = known.mtu;
  return mtu ?? FALLBACK_MTU;
}

/** What is left of the host's MTU inside the tunnel. */
export function vxlanMtu(mtu: number, family: Family): number {
  return mtu - VXLAN_OVERHEAD[family];
}
