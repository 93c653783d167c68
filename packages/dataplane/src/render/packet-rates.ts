import type { ChainState, Verdict, VerdictMapState } from "@bulrush/nftables";
import { chain, commented, layered, rule } from "./layer.ts";
import { type Direction, packetRateChain } from "./names.ts";
import type { PacketRate } from "./qos-rules.ts";
import { COUNTER, DROP, meta, verdict } from "./statements.ts";
import { CHAIN } from "./topology.ts";

const LAYER = "filter";

/** Maps of the interfaces whose workloads have a rate. */
const MAPS: Readonly<Record<Direction, string>> = {
  ingress: layered(LAYER, "cali-to-wl-rate"),
  egress: layered(LAYER, "cali-from-wl-rate"),
};

/** Ends packets above the rate, of whatever flow. It has a chain of its own, which keeps the count when others change. */
export function renderPacketRate(interfaceName: string, direction: Direction, rate: PacketRate): ChainState {
  return chain(LAYER, packetRateChain(direction, interfaceName), [
    commented(
      "Packet rate limit",
      { kind: "limit", rate: rate.perSecond, unit: "second", burst: rate.burst, over: true },
      COUNTER,
      verdict(DROP),
    ),
  ]);
}

/**
 * `cali-packet-rate`: asks the rates of both ends of a packet. Ahead of policy, since that lets through what is
 * established, of one end or of a host endpoint, before it comes to the other end.
 */
export function packetRateDispatch(interfaces: Readonly<Record<Direction, Iterable<string>>>): {
  readonly chain: ChainState;
  readonly maps: readonly VerdictMapState[];
} {
  const map = (direction: Direction): VerdictMapState => {
    const elements = new Map<string, Verdict>();
    for (const name of interfaces[direction])
      elements.set(name, { kind: "jump", chain: layered(LAYER, packetRateChain(direction, name)) });
    return { name: MAPS[direction], key: "ifname", elements };
  };
  return {
    chain: chain(LAYER, CHAIN.packetRate, [
      rule({ kind: "vmap", key: meta("iifname"), map: MAPS.egress }),
      rule({ kind: "vmap", key: meta("oifname"), map: MAPS.ingress }),
    ]),
    maps: [map("egress"), map("ingress")],
  };
}
