import { parseCidr } from "@bulrush/ip";
import type { ChainState, RuleState, Statement } from "@bulrush/nftables";
import type { DataplaneConfig, FailsafePort } from "../config/dataplane-config.ts";
import { chain, commented, type Layer, rule } from "./layer.ts";
import {
  ACCEPT,
  address,
  COUNTER,
  equals,
  type Family,
  icmpv6Types,
  inNet,
  meta,
  port,
  type Side,
  verdict,
} from "./statements.ts";
import { CHAIN } from "./topology.ts";

/**
 * ICMPv6 without which a host has no IPv6 at all: multicast listener reports (130 to 132, 143), router and neighbour
 * discovery (133 to 136). RFC 4890, section 4.4.1.
 */
const LINK_LOCAL_TYPES = [130, 131, 132, 133, 134, 135, 136, 143];

/** Ports that stay open on host endpoints whatever the policy, so that a host can always be reached and repaired. */
export function failsafeChains(layer: Layer, config: DataplaneConfig, family: Family): ChainState[] {
  const inbound = openPorts(config.failsafeInbound, "dst", "src", family);
  const outbound = openPorts(config.failsafeOutbound, "dst", "dst", family);
  if (family === 6)
    for (const rules of [inbound, outbound])
      rules.unshift(commented("Neighbour discovery", ...icmpv6Types(LINK_LOCAL_TYPES), COUNTER, verdict(ACCEPT)));
  if (layer === "raw") {
    // Nothing here knows of connections yet: answers have to be named too, by the port that they come from.
    inbound.push(...openPorts(config.failsafeOutbound, "src", "src", family));
    outbound.push(...openPorts(config.failsafeInbound, "src", "dst", family));
  }
  return [chain(layer, CHAIN.failsafeIn, inbound), chain(layer, CHAIN.failsafeOut, outbound)];
}

function openPorts(ports: readonly FailsafePort[], portSide: Side, peerSide: Side, family: Family): RuleState[] {
  const rules: RuleState[] = [];
  for (const entry of ports) {
    const peer: Statement[] = [];
    if (entry.net !== undefined) {
      if (parseCidr(entry.net)?.family !== family) continue;
      peer.push(inNet(address(peerSide, family), entry.net));
    }
    rules.push(
      rule(
        equals(meta("l4proto"), entry.protocol),
        ...peer,
        equals(port(portSide), entry.port),
        COUNTER,
        verdict(ACCEPT),
      ),
    );
  }
  return rules;
}
