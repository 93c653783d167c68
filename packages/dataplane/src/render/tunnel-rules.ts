import type { RuleState, Statement } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { commented, rule } from "./layer.ts";
import { matchBlocks } from "./rule/match-blocks.ts";
import { ruleMatch } from "./rule/rule-match.ts";
import type { SetLookup } from "./set-shape.ts";
import { COUNTER, equals, type Family, fibType, isPort, isProtocol, meta, outInterface, port } from "./statements.ts";
import { allow, deny } from "./verdicts.ts";

/** Ids of the sets of hosts. */
export const HOST_SETS = {
  /** All hosts of the cluster, and those outside that belong to it. */
  all: "all-hosts-net",
  /** The other hosts of the cluster that have a tunnel, and those outside that may use it. */
  vxlan: "all-vxlan-net",
} as const;

/** Ports for the source of masqueraded packets: none that a stranger's tunnel would take for its own. */
const LOWEST_PORT = 1024;
const HIGHEST_PORT = 65_535;

const PROTOCOL = { name: "udp" } as const;

/** Tunnel packets between hosts. */
function tunnelPackets(config: DataplaneConfig): Statement[] {
  return [equals(meta("l4proto"), "udp"), equals(port("dst"), config.vxlanPort)];
}

/** Conntrack has no use for packets that only carry others, and would hold one flow for each of theirs. */
export function vxlanUntracked(config: DataplaneConfig): RuleState {
  return rule(...tunnelPackets(config), { kind: "notrack" });
}

/** IP in IP (IANA protocol 4). */
const IPIP = { number: 4 } as const;

/** Packets of IP in IP to this host, which has no other use for them: from hosts of the cluster they come in. */
export function ipipInput(config: DataplaneConfig, sets: SetLookup): RuleState[] {
  return [
    ...allowTunnel(
      { protocol: IPIP, src_ip_set_ids: [HOST_SETS.all] },
      "IPIP packets from Calico hosts",
      config,
      4,
      sets,
    ),
    commented(
      "Drop IPIP packets from non-Calico hosts",
      equals(meta("l4proto"), IPIP.number),
      ...deny("filter", config),
    ),
  ];
}

/** Packets of IP in IP from this host to hosts of the cluster. */
export function ipipOutput(config: DataplaneConfig, sets: SetLookup): RuleState[] {
  return allowTunnel(
    { protocol: IPIP, dst_ip_set_ids: [HOST_SETS.all] },
    "IPIP packets to other Calico hosts",
    config,
    4,
    sets,
  );
}

/** Packets of the tunnel to this host: from its hosts they come in, from others they do not. */
export function vxlanInput(config: DataplaneConfig, family: Family, sets: SetLookup): RuleState[] {
  const from = { ...vxlanMatch(config), src_ip_set_ids: [HOST_SETS.vxlan] };
  const known = allowTunnel(from, `IPv${family} VXLAN packets from allowed hosts`, config, family, sets);
  return [
    ...known,
    commented(
      `Drop IPv${family} VXLAN packets from non-allowed hosts`,
      ...tunnelPackets(config),
      equals(fibType("daddr"), "local"),
      ...deny("filter", config),
    ),
  ];
}

/** Packets of the tunnel from this host to its hosts. */
export function vxlanOutput(config: DataplaneConfig, family: Family, sets: SetLookup): RuleState[] {
  const to = { ...vxlanMatch(config), dst_ip_set_ids: [HOST_SETS.vxlan] };
  return allowTunnel(to, `IPv${family} VXLAN packets to allowed hosts`, config, family, sets);
}

function vxlanMatch({ vxlanPort }: DataplaneConfig): Partial<DataplaneRule> {
  return { protocol: PROTOCOL, dst_ports: [{ first: vxlanPort, last: vxlanPort }] };
}

/** Packets of WireGuard to this host: whoever sends them has to have a key. */
export function wireguardInput(config: DataplaneConfig, family: Family): RuleState[] {
  return wireguardRules("Allow incoming IPv", "daddr", config, family);
}

/** Packets of WireGuard from this host. */
export function wireguardOutput(config: DataplaneConfig, family: Family): RuleState[] {
  return wireguardRules("Allow outgoing IPv", "saddr", config, family);
}

function wireguardRules(what: string, side: "saddr" | "daddr", config: DataplaneConfig, family: Family): RuleState[] {
  if (!config.wireguard[family]) return [];
  return [
    commented(
      `${what}${family} WireGuard packets`,
      isProtocol("udp"),
      isPort("dst", config.wireguardPort[family]),
      equals(fibType(side), "local"),
      ...allow("filter", config),
    ),
  ];
}

/** The source is not the address of the device that the packet leaves by, and yet this host's. */
function foreignSource(device: string): Statement[] {
  return [
    outInterface(device),
    { ...equals(fibType("saddr", "oif"), "local"), op: "!=" } as Statement,
    equals(fibType("saddr"), "local"),
  ];
}

/** Lets through what matches, of which the end on this side is an address of this host. */
function allowTunnel(
  wanted: Partial<DataplaneRule>,
  what: string,
  config: DataplaneConfig,
  family: Family,
  sets: SetLookup,
): RuleState[] {
  const matched = ruleMatch({ action: "allow", ip_version: "ANY", rule_id: "", ...wanted }, family, sets);
  if (matched === undefined) return [];
  const { before, condition } = matchBlocks(matched.groups, config.marks);
  const own = equals(fibType(wanted.src_ip_set_ids === undefined ? "saddr" : "daddr"), "local");
  return [...before, commented(`Allow ${what}`, ...condition, ...matched.statements, own, ...allow("filter", config))];
}

/**
 * What this host itself sends into a tunnel (to a pod, by the address of another interface) gets the tunnel's address:
 * the answer has to come back by the tunnel.
 */
export function tunnelMasquerade(device: string, config: DataplaneConfig, hasVxlan: boolean): RuleState[] {
  const foreign = foreignSource(device);
  const rules = [rule(...foreign, COUNTER, { kind: "masquerade", fullyRandom: true })];
  if (hasVxlan)
    rules.unshift(
      rule(...foreign, isProtocol("udp"), COUNTER, {
        kind: "masquerade",
        fullyRandom: true,
        ports: portsBesideVxlan(config),
      }),
    );
  return rules;
}

/**
 * Ports for the source of translated UDP packets where there is VXLAN, the wider range beside its own: the answer to one from VXLAN's own port would be
 * taken for a packet of the tunnel, and neither be tracked nor come in.
 */
export function portsBesideVxlan({ vxlanPort }: DataplaneConfig): { readonly first: number; readonly last: number } {
  const above = HIGHEST_PORT - vxlanPort;
  const below = vxlanPort - LOWEST_PORT;
  return above >= below
    ? { first: Math.max(LOWEST_PORT, vxlanPort + 1), last: HIGHEST_PORT }
    : { first: LOWEST_PORT, last: vxlanPort - 1 };
}
