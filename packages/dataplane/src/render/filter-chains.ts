import { parseCidr } from "@bulrush/ip";
import type { ChainState, RuleState } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { flowOffloadRules } from "./flow-offload.ts";
import { chain, commented, layered, rule } from "./layer.ts";
import type { SetLookup } from "./set-shape.ts";
import {
  ACCEPT,
  address,
  clearMark,
  COUNTER,
  destinationNotTranslated,
  DROP,
  equals,
  established,
  type Family,
  goto,
  icmpv6Types,
  inInterfaces,
  inNet,
  jump,
  marked,
  meta,
  outInterfaces,
  RETURN,
  setMark,
  unmarked,
  verdict,
  withoutFlow,
} from "./statements.ts";
import { CHAIN, type Topology } from "./topology.ts";
import { allow, deny } from "./verdicts.ts";
import { ipipInput, ipipOutput, vxlanInput, vxlanOutput, wireguardInput, wireguardOutput } from "./tunnel-rules.ts";
import { hostServices } from "./openstack-rules.ts";

const LAYER = "filter";

/**
 * ICMPv6 that every workload may send to its host, whatever its policy (RFC 4861, RFC 2710, RFC 3810): multicast
 * listeners 130 to 132, router solicitation 133, neighbour solicitation 135 and advertisement 136.
 */
const NEIGHBOUR_DISCOVERY_TYPES = [130, 131, 132, 133, 135, 136];

/** To a chain of the layer. */
const to = (name: string): ReturnType<typeof jump> => jump(layered(LAYER, name));

/** filter-INPUT: packets for this host. Those from workloads never come back from `cali-wl-to-host`. */
export function inputChain(config: DataplaneConfig, topology: Topology, family: Family, sets: SetLookup): ChainState {
  const { accept, pass, scratch0, scratch1 } = config.marks;
  const rules: RuleState[] = [];
  if (topology.ipip && family === 4) rules.push(...ipipInput(config, sets));
  if (topology.vxlan[family]) rules.push(...vxlanInput(config, family, sets));
  rules.push(...wireguardInput(config, family));
  for (const prefix of config.interfacePrefixes)
    rules.push(rule(inInterfaces(prefix), goto(layered(LAYER, CHAIN.workloadToHost))));
  if (topology.hostEndpoints)
    rules.push(
      rule(marked(accept), ...allow(LAYER, config)),
      rule(clearMark(accept + pass + scratch0 + scratch1)),
      rule(to(CHAIN.fromHost)),
      rule(marked(accept), ...allow(LAYER, config)),
    );
  return chain(LAYER, CHAIN.input, rules);
}

/** A workload's packets to its host: neighbour discovery, then its rate, its egress policy and the configured action. */
export function workloadToHostChain(config: DataplaneConfig, topology: Topology, family: Family): ChainState {
  const rules: RuleState[] = [];
  if (family === 6) rules.push(rule(...icmpv6Types(NEIGHBOUR_DISCOVERY_TYPES), COUNTER, verdict(ACCEPT)));
  rules.push(...hostServices(config, family));
  if (topology.packetRates) rules.push(rule(to(CHAIN.packetRate)));
  rules.push(rule(to(CHAIN.fromWorkload)));
  // The endpoint's chain has ended established flows itself, unless it was told to leave them to others. Answers of a
  // workload to its host are not for the configured action to judge.
  if (config.filterAllowAction === "RETURN") rules.push(rule(established(), COUNTER, verdict(RETURN)));
  const action =
    config.endpointToHostAction === "DROP"
      ? deny(LAYER, config)
      : [COUNTER, verdict(config.endpointToHostAction === "ACCEPT" ? ACCEPT : RETURN)];
  rules.push(commented("Configured DefaultEndpointToHostAction", ...action));
  return chain(LAYER, CHAIN.workloadToHost, rules);
}

/** filter-FORWARD: packets through this host, from and to workloads and others. */
export function forwardChain(config: DataplaneConfig, topology: Topology, family: Family): ChainState {
  const { accept, pass, scratch0, scratch1 } = config.marks;
  const rules: RuleState[] = [rule(clearMark(pass + scratch0 + scratch1))];
  // Ahead of all that lets through what is established, of a host endpoint or of the other end.
  if (topology.adminDown) rules.push(rule(to(CHAIN.adminDown)));
  if (topology.packetRates) rules.push(rule(to(CHAIN.packetRate)));
  rules.push(...flowOffloadRules(config, family));
  if (topology.hostEndpoints) rules.push(rule(unmarked(accept), to(CHAIN.fromHostForward)));
  for (const prefix of config.interfacePrefixes)
    rules.push(rule(inInterfaces(prefix), to(CHAIN.fromWorkload)), rule(outInterfaces(prefix), to(CHAIN.toWorkload)));
  if (topology.hostEndpoints) rules.push(rule(to(CHAIN.toHostForward)));
  if (topology.serviceCidrs.length > 0) rules.push(rule(to(CHAIN.cidrBlock)));
  return chain(LAYER, CHAIN.forward, rules);
}

/** Closes workloads that are down by their owner's wish, both ways. */
export function adminDownChain(interfaces: readonly string[], config: DataplaneConfig): ChainState {
  const closed = (name: string): RuleState[] =>
    (["iifname", "oifname"] as const).map((side) =>
      commented("Endpoint admin down", equals(meta(side), name), ...deny(LAYER, config)),
    );
  return chain(LAYER, CHAIN.adminDown, interfaces.flatMap(closed));
}

/** Behind `cali-FORWARD`: what policy allowed goes on; the mark tells mangle that forward policy has been asked. */
export function forwardEnd(config: DataplaneConfig, topology: Topology): RuleState[] {
  const rules = [commented("Policy explicitly accepted packet", marked(config.marks.accept), ...allow(LAYER, config))];
  if (topology.hostEndpoints) rules.push(rule(setMark(config.marks.accept)));
  return rules;
}

/**
 * filter-OUTPUT: packets of this host, by host endpoint policy. What goes to local workloads is theirs to judge. DNATed
 * packets are judged in mangle, by where they really go. A packet without a flow (not tracked, or invalid) has no DNAT
 * status, and must be judged here: hence two rules.
 */
export function outputChain(config: DataplaneConfig, topology: Topology, family: Family, sets: SetLookup): ChainState {
  const { accept, pass, scratch0, scratch1 } = config.marks;
  return chain(LAYER, CHAIN.output, [
    rule(marked(accept), ...allow(LAYER, config)),
    ...config.interfacePrefixes.map((prefix) => rule(outInterfaces(prefix), verdict(RETURN))),
    ...(topology.ipip && family === 4 ? ipipOutput(config, sets) : []),
    ...(topology.vxlan[family] ? vxlanOutput(config, family, sets) : []),
    ...wireguardOutput(config, family),
    rule(clearMark(accept + pass + scratch0 + scratch1)),
    rule(withoutFlow(), to(CHAIN.toHost)),
    rule(destinationNotTranslated(), to(CHAIN.toHost)),
    rule(marked(accept), ...allow(LAYER, config)),
  ]);
}

/** A service address that nobody has translated by now is not used: forwarding it would send it round in a loop. */
export function cidrBlockChain(config: DataplaneConfig, topology: Topology, family: Family): ChainState {
  const action = config.serviceLoopPrevention === "Reject" ? rejectStatements() : [COUNTER, verdict(DROP)];
  const cidrs = config.serviceLoopPrevention === "Disabled" ? [] : topology.serviceCidrs;
  return chain(
    LAYER,
    CHAIN.cidrBlock,
    cidrs
      .filter((cidr) => parseCidr(cidr)?.family === family)
      .map((cidr) => rule(inNet(address("dst", family), cidr), ...action)),
  );
}

function rejectStatements(): RuleState["statements"] {
  return [COUNTER, { kind: "reject", with: "icmpx-port-unreachable" }];
}
