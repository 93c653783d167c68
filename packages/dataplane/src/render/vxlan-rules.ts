import type { RuleState, Statement } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { VXLAN_DEVICE } from "../tunnel/vxlan-device.ts";
import { commented, type Layer, rule } from "./layer.ts";
import { matchBlocks } from "./rule/match-blocks.ts";
import { ruleMatch } from "./rule/rule-match.ts";
import type { SetLookup } from "./set-shape.ts";
import { COUNTER, equals, type Family, fibType, meta, outInterface, port } from "./statements.ts";
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

/** Packets of the tunnel to this host: from its hosts they come in, from others they do not. */
export function vxlanInput(config: DataplaneConfig, family: Family, sets: SetLookup): RuleState[] {
  const known = between("src", config, family, sets, "filter");
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
  return between("dst", config, family, sets, "filter");
}

function between(
  side: "src" | "dst",
  config: DataplaneConfig,
  family: Family,
  sets: SetLookup,
  layer: Layer,
): RuleState[] {
  const hosts = side === "src" ? { src_ip_set_ids: [HOST_SETS.vxlan] } : { dst_ip_set_ids: [HOST_SETS.vxlan] };
  const wanted: DataplaneRule = {
    action: "allow",
    ip_version: "ANY",
    protocol: PROTOCOL,
    dst_ports: [{ first: config.vxlanPort, last: config.vxlanPort }],
    ...hosts,
    rule_id: "",
  };
  const matched = ruleMatch(wanted, family, sets);
  if (matched === undefined) return [];
  const { before, condition } = matchBlocks(matched.groups, config.marks);
  const own = equals(fibType(side === "src" ? "daddr" : "saddr"), "local");
  const comment = `Allow IPv${family} VXLAN packets ${side === "src" ? "from" : "to"} allowed hosts`;
  return [...before, commented(comment, ...condition, ...matched.statements, own, ...allow(layer, config))];
}

/**
 * What this host itself sends into the tunnel (to a pod, by the address of another interface) gets the tunnel's address:
 * the answer has to come back by the tunnel. A UDP packet must not get the tunnel's own port as its source, since the
 * answer to it would be taken for a packet of the tunnel.
 */
export function tunnelMasquerade(config: DataplaneConfig, family: Family): RuleState[] {
  const foreignSource = [
    outInterface(VXLAN_DEVICE[family]),
    // The address is not that of the device itself, and yet this host's.
    { ...equals(fibType("saddr", "oif"), "local"), op: "!=" } as Statement,
    equals(fibType("saddr"), "local"),
  ];
  return [
    rule(...foreignSource, equals(meta("l4proto"), "udp"), COUNTER, {
      kind: "masquerade",
      fullyRandom: true,
      ports: portsBeside(config.vxlanPort),
    }),
    rule(...foreignSource, COUNTER, { kind: "masquerade", fullyRandom: true }),
  ];
}

/** The wider range of ports on one side of the tunnel's. */
function portsBeside(tunnelPort: number): { readonly first: number; readonly last: number } {
  const above = HIGHEST_PORT - tunnelPort;
  const below = tunnelPort - LOWEST_PORT;
  return above >= below
    ? { first: Math.max(LOWEST_PORT, tunnelPort + 1), last: HIGHEST_PORT }
    : { first: LOWEST_PORT, last: tunnelPort - 1 };
}
