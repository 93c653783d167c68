import type { ChainState, VerdictMapState } from "@bulrush/nftables";
import { chain, commented, layered, rule } from "./layer.ts";
import { boundedName } from "./names.ts";
import { COUNTER, DROP, equals, match, meta, payload, verdict } from "./statements.ts";

/** The table of its own that ARP needs. */
export const ARP_TABLE = "calico-arp";

const LAYER = "filter";
const DISPATCH = "cali-arp-dispatch";

function arpChainName(interfaceName: string): string {
  return boundedName("cali-arp-", interfaceName);
}

/**
 * The host answers ARP for every address that it has a route to (proxy_arp), and so for the workload's own while that has
 * no route yet: the workload would take its address for somebody else's. Such answers go no further.
 */
export function arpChain(interfaceName: string, addresses: readonly string[]): ChainState {
  const own = [...addresses].sort();
  return chain(
    LAYER,
    arpChainName(interfaceName),
    own.length === 0
      ? []
      : [
          commented(
            "Answer for the own address of the workload",
            equals(payload("arp operation"), "reply"),
            match(
              payload("arp saddr ip"),
              "==",
              own.length === 1 ? { kind: "value", value: own[0] ?? "" } : { kind: "anonymous", elements: own },
            ),
            COUNTER,
            verdict(DROP),
          ),
        ],
  );
}

/** ARP packets of this host, by the interface that they leave by. */
export function arpOutput(interfaceNames: readonly string[]): {
  readonly base: ChainState;
  readonly map: VerdictMapState;
} {
  const map = layered(LAYER, DISPATCH);
  return {
    base: {
      name: layered(LAYER, "OUTPUT"),
      base: { type: "filter", hook: "output", priority: 0, policy: "accept" },
      rules: [rule({ kind: "vmap", key: meta("oifname"), map })],
    },
    map: {
      name: map,
      key: "ifname",
      elements: new Map(
        interfaceNames.map((name) => [name, { kind: "goto", chain: layered(LAYER, arpChainName(name)) }]),
      ),
    },
  };
}
