import type { ChainState, RuleState } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { chain, commented, layered, rule } from "./layer.ts";
import {
  ACCEPT,
  address,
  clearMark,
  COUNTER,
  equals,
  type Family,
  inInterfaces,
  inNet,
  jump,
  marked,
  meta,
  RETURN,
  setMark,
  unmarked,
  verdict,
} from "./statements.ts";
import { CHAIN, type Topology } from "./topology.ts";
import { deny } from "./verdicts.ts";
import { vxlanUntracked } from "./tunnel-rules.ts";
import { dhcpRequest } from "./openstack-rules.ts";

const LAYER = "raw";

/**
 * raw-PREROUTING: the first look at every packet that comes in, ahead of conntrack. A workload's packet whose source has
 * no route back through the interface it came by is forged.
 */
export function rawPreroutingChain(config: DataplaneConfig, topology: Topology, family: Family): ChainState {
  const { accept, pass, scratch0, scratch1 } = config.marks;
  const rules: RuleState[] = [
    rule(clearMark(accept + pass + scratch0 + scratch1)),
    ...(marksPlainPackets(config, family) ? [rule(jump(layered(LAYER, CHAIN.wireguardIncoming)))] : []),
    ...(topology.vxlan[family] ? [vxlanUntracked(config)] : []),
    ...config.interfacePrefixes.map((prefix) => rule(inInterfaces(prefix), setMark(scratch0))),
  ];
  if (config.allowSpoofedSources) rules.push(rule(marked(scratch0), jump(layered(LAYER, CHAIN.rpfSkip))));
  rules.push(
    ...dhcpRequest(config, family),
    commented(
      "Source without a route back",
      marked(scratch0),
      equals({ kind: "fib", result: "oif", flags: ["saddr", "mark", "iif"] }, 0),
      ...deny(LAYER, config),
    ),
  );
  if (topology.hostEndpoints)
    rules.push(
      rule(unmarked(scratch0), jump(layered(LAYER, CHAIN.fromHost))),
      rule(marked(accept), COUNTER, verdict(ACCEPT)),
    );
  return chain(LAYER, CHAIN.prerouting, rules);
}

/** True where hosts encrypt what they send one another themselves. */
export function marksPlainPackets(config: DataplaneConfig, family: Family): boolean {
  return config.wireguardHostEncryption && config.wireguard[family];
}

/**
 * What comes in unencrypted, from a host that has no key yet, is judged by the way back that unencrypted packets take: the
 * kernel's check of the source looks the mark up (src_valid_mark).
 */
export function wireguardIncomingChain(config: DataplaneConfig, family: Family): ChainState {
  return chain(LAYER, CHAIN.wireguardIncoming, [
    rule(equals(meta("iifname"), "lo"), verdict(RETURN)),
    rule(equals(meta("iifname"), config.wireguardDevice[family]), verdict(RETURN)),
    ...config.interfacePrefixes.map((prefix) => rule(inInterfaces(prefix), verdict(RETURN))),
    rule(setMark(config.wireguardMark)),
  ]);
}

/** raw-OUTPUT: do-not-track policy on packets of this host, and its tunnels' packets. */
export function rawOutputChain(config: DataplaneConfig, topology: Topology, family: Family): ChainState {
  const { accept, pass, scratch0, scratch1 } = config.marks;
  const rules: RuleState[] = [];
  if (topology.hostEndpoints)
    rules.push(rule(clearMark(accept + pass + scratch0 + scratch1)), rule(jump(layered(LAYER, CHAIN.toHost))));
  if (topology.vxlan[family]) rules.push(vxlanUntracked(config));
  if (topology.hostEndpoints) rules.push(rule(marked(accept), COUNTER, verdict(ACCEPT)));
  return chain(LAYER, CHAIN.output, rules);
}

/** Source networks that an interface may use although no route leads back to them. */
export interface SpoofedSources {
  readonly interfaceName: string;
  readonly cidrs: readonly string[];
}

/** The exceptions, one rule for each interface and network of the family. */
export function rpfSkipChain(allowed: readonly SpoofedSources[], family: Family): ChainState {
  return chain(
    LAYER,
    CHAIN.rpfSkip,
    allowed.flatMap(({ interfaceName, cidrs }) =>
      cidrs.map((cidr) =>
        rule(equals(meta("iifname"), interfaceName), inNet(address("src", family), cidr), COUNTER, verdict(ACCEPT)),
      ),
    ),
  );
}
