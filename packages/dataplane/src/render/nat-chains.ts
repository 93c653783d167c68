import type { ChainState, RuleState, Statement } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { IPIP_DEVICE } from "../tunnel/ipip-device.ts";
import { VXLAN_DEVICE } from "../tunnel/vxlan-device.ts";
import { chain, commented, layered, rule } from "./layer.ts";
import { matchBlocks } from "./rule/match-blocks.ts";
import { ruleMatch } from "./rule/rule-match.ts";
import type { SetLookup } from "./set-shape.ts";
import { COUNTER, type Family, isPort, isProtocol, jump, outInterface, outInterfaces } from "./statements.ts";
import { CHAIN, type Topology } from "./topology.ts";
import { HOST_SETS, portsBesideVxlan, tunnelMasquerade } from "./tunnel-rules.ts";
import { metadataTranslation } from "./openstack-rules.ts";

/** Ids of the sets of pool networks. */
export const POOL_SETS = {
  /** Pools whose workloads are hidden behind their host when they talk to the outside. */
  masquerade: "masq-ipam-pools",
  /** All pools of workloads: to these, nobody is hidden. */
  all: "network-ip-pools",
} as const;

/** True when the family has something to translate on its way out. */
export function hasPostrouting(config: DataplaneConfig, topology: Topology, family: Family): boolean {
  const isTunnelled = tunnelDevices(config, topology, family).length > 0;
  return topology.masquerade[family] || isTunnelled || topology.floatingIps[family];
}

/** The devices of tunnels in which this host has an address. */
function tunnelDevices(config: DataplaneConfig, topology: Topology, family: Family): string[] {
  return [
    ...(family === 4 && topology.ipip && topology.ipipAddress ? [IPIP_DEVICE] : []),
    ...(topology.vxlan[family] && topology.tunnelAddress[family] ? [VXLAN_DEVICE[family]] : []),
    ...(config.wireguard[family] ? [config.wireguardDevice[family]] : []),
  ];
}

/** nat-OUTPUT: what is addressed to a floating address goes to its workload. */
export function natOutputChain(): ChainState {
  return chain("nat", CHAIN.output, [rule(jump(layered("nat", CHAIN.floatingDnat)))]);
}

/** nat-PREROUTING: the same, and what is for OpenStack's metadata service. No rules: nothing is to be translated. */
export function natPreroutingChain(config: DataplaneConfig, topology: Topology, family: Family): ChainState {
  return chain("nat", CHAIN.prerouting, [
    ...(topology.floatingIps[family] ? [rule(jump(layered("nat", CHAIN.floatingDnat)))] : []),
    ...metadataTranslation(config, family),
  ]);
}

/**
 * nat-POSTROUTING: workloads of masqueraded pools leave the cluster with their host's address, and the host's own
 * packets enter the tunnel with its address there.
 */
export function natPostroutingChain(
  config: DataplaneConfig,
  topology: Topology,
  family: Family,
  sets: SetLookup,
): ChainState {
  const rules: RuleState[] = [];
  if (topology.floatingIps[family]) rules.push(rule(jump(layered("nat", CHAIN.floatingSnat))));
  const hasVxlan = topology.vxlan[family];
  if (topology.masquerade[family]) rules.push(...natOutgoing(config, family, sets, hasVxlan));
  for (const device of tunnelDevices(config, topology, family))
    rules.push(...tunnelMasquerade(device, config, hasVxlan));
  return chain("nat", CHAIN.postrouting, rules);
}

function natOutgoing(config: DataplaneConfig, family: Family, sets: SetLookup, hasVxlan: boolean): RuleState[] {
  const excluded: string[] = [POOL_SETS.all];
  if (config.natOutgoingExclusions === "IPPoolsAndHostIPs") excluded.push(HOST_SETS.all);
  const outgoing: DataplaneRule = {
    action: "allow",
    ip_version: "ANY",
    src_ip_set_ids: [POOL_SETS.masquerade],
    not_dst_ip_set_ids: excluded,
    rule_id: "",
  };
  const matched = ruleMatch(outgoing, family, sets);
  if (matched === undefined) return [];
  const { before, condition } = matchBlocks(matched.groups, config.marks);
  const wanted = [...condition, ...matched.statements, ...leavingBy(config.natInterface)];
  const to = (ports: DataplaneConfig["natPorts"], ...more: readonly Statement[]): RuleState =>
    commented("NAT outgoing", ...wanted, ...more, COUNTER, translation(config, family, ports));
  const { natPorts } = config;
  // Ports are chosen where there are some.
  if (natPorts !== undefined)
    return [...before, to(natPorts, isProtocol("tcp")), to(natPorts, isProtocol("udp")), to(undefined)];
  if (!hasVxlan) return [...before, to(undefined)];
  // An address of one's own leaves ports as they are: only VXLAN's is to be another.
  const own = outgoingAddress(config, family) === undefined ? [] : [isPort("src", config.vxlanPort)];
  return [...before, to(portsBesideVxlan(config), isProtocol("udp"), ...own), to(undefined)];
}

/** What is set is an IPv4 address. */
function outgoingAddress(config: DataplaneConfig, family: Family): string | undefined {
  return family === 4 ? config.natAddress : undefined;
}

function translation(config: DataplaneConfig, family: Family, range: DataplaneConfig["natPorts"]): Statement {
  const ports = range === undefined ? {} : { ports: range };
  const address = outgoingAddress(config, family);
  return address === undefined
    ? { kind: "masquerade", fullyRandom: true, ...ports }
    : { kind: "nat", type: "snat", address, ...ports };
}

/** `eth+` stands for all names that begin so, as in the reference configuration. */
function leavingBy(name: string): Statement[] {
  if (name === "") return [];
  return [name.endsWith("+") ? outInterfaces(name.slice(0, -1)) : outInterface(name)];
}
