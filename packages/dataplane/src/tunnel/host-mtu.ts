import type { Encapsulation } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { Family } from "../render/statements.ts";

/** Where no interface tells: what fits the common clouds. */
const FALLBACK_MTU = 1460;

/** Bytes that VXLAN puts around a packet: outer Ethernet 14, IP 20 or 40, UDP 8, VXLAN 8 (RFC 7348). */
const VXLAN_OVERHEAD = { 4: 50, 6: 70 } as const;

/** IP in IP: one more IPv4 header (RFC 2003). */
const IPIP_OVERHEAD = 20;

/** WireGuard: IP 20 or 40, UDP 8, and 32 of its own. */
const WIREGUARD_OVERHEAD = { 4: 60, 6: 80 } as const;

/** What Azure's network puts around encrypted packets of hosts themselves. */
const AKS_OVERHEAD = 100;

/** The lowest MTU of the interfaces that are up and whose names match. */
export function hostMtu(interfaces: Interfaces, pattern: RegExp): number {
  let mtu: number | undefined;
  for (const known of interfaces.all())
    if (known.up && pattern.test(known.name) && (mtu === undefined || known.mtu < mtu)) mtu = known.mtu;
  return mtu ?? FALLBACK_MTU;
}

/** The MTU of each kind of tunnel: as configured, or what is left of the host's. */
export function tunnelMtu(
  kind: "vxlan" | "ipip" | "wireguard",
  family: Family,
  config: DataplaneConfig,
  host: number,
): number {
  switch (kind) {
    case "vxlan":
      return config.vxlanMtu[family] || host - VXLAN_OVERHEAD[family];
    case "ipip":
      return config.ipipMtu || host - IPIP_OVERHEAD;
    case "wireguard":
      return config.wireguardMtu[family] || host - WIREGUARD_OVERHEAD[family] - aksOverhead(config);
  }
}

function aksOverhead({ isAks, wireguardHostEncryption }: DataplaneConfig): number {
  return isAks && wireguardHostEncryption ? AKS_OVERHEAD : 0;
}

/** The MTU that pods may have: the lowest of the tunnels that are on, or the host's without any. */
export function podMtu(config: DataplaneConfig, encapsulation: Encapsulation, interfaces: Interfaces): number {
  const host = hostMtu(interfaces, config.mtuInterfacePattern);
  const mtus = [host];
  if (encapsulation.ipip_enabled) mtus.push(tunnelMtu("ipip", 4, config, host));
  if (encapsulation.vxlan_enabled) mtus.push(tunnelMtu("vxlan", 4, config, host));
  if (encapsulation.vxlan_enabled_v6 && config.ipv6Support) mtus.push(tunnelMtu("vxlan", 6, config, host));
  for (const family of [4, 6] as const)
    if (config.wireguard[family]) mtus.push(tunnelMtu("wireguard", family, config, host));
  return Math.min(...mtus);
}
