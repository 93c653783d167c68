import type { BaseChain, ChainState, RuleState } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { decisionChains } from "./decision-chains.ts";
import { failsafeChains } from "./failsafe-chains.ts";
import {
  cidrBlockChain,
  forwardChain,
  forwardEnd,
  inputChain,
  outputChain,
  workloadToHostChain,
} from "./filter-chains.ts";
import { HOOK_CHAIN } from "./hook-chain.ts";
import { type Layer, layered, rule } from "./layer.ts";
import { manglePostroutingChain, manglePreroutingChain } from "./mangle-chains.ts";
import { hasPostrouting, natOutputChain, natPostroutingChain, natPreroutingChain } from "./nat-chains.ts";
import { marksPlainPackets, rawOutputChain, rawPreroutingChain, wireguardIncomingChain } from "./raw-chains.ts";
import type { SetLookup } from "./set-shape.ts";
import { type Family, jump } from "./statements.ts";
import { CHAIN, type Topology } from "./topology.ts";

/** The chains that do not belong to one endpoint, policy or profile. */
export interface FixedChains {
  /** Chains on kernel hooks: each jumps to the chain of ours that does the work. */
  readonly base: readonly ChainState[];
  readonly others: readonly ChainState[];
}

/**
 * Priorities are those of iptables, whose tables the layers stand for; kube-proxy works at -110 to 100, so that
 * destinations are translated when filter runs, and our masquerade follows its own.
 */
const PRIORITY = { raw: -300, mangle: -150, filter: 0, natDestination: -100, natPostrouting: 110 } as const;

/**
 * All fixed chains of one family. A hook where nothing is to be decided is not taken: no mangle and no output hooks
 * without a host endpoint (but raw for tunnels), no nat without a masqueraded pool or a tunnel.
 *
 *     packet in                                     ┌─> to this host: filter-INPUT ──> cali-wl-to-host
 *        │                                          │
 *        └─> raw-PREROUTING ──> mangle-PREROUTING ──┴─> through: filter-FORWARD ──┐
 *            forged sources,    pre-DNAT policy         workload and              ├─> mangle-POSTROUTING ──> nat-POSTROUTING
 *            do-not-track                               forward policy            │   policy of DNATed       masquerade
 *                                                                                 │
 *     packet of this host ──> raw-OUTPUT ──> filter-OUTPUT ───────────────────────┘
 */
export function fixedChains(config: DataplaneConfig, topology: Topology, family: Family, sets: SetLookup): FixedChains {
  const base: ChainState[] = [
    hook("raw", "prerouting", PRIORITY.raw, CHAIN.prerouting),
    hook("filter", "input", PRIORITY.filter, CHAIN.input),
    hook("filter", "forward", PRIORITY.filter, CHAIN.forward, forwardEnd(config, topology)),
  ];
  const others: ChainState[] = [
    rawPreroutingChain(config, topology, family),
    inputChain(config, topology, family, sets),
    workloadToHostChain(config, topology, family),
    forwardChain(config, topology, family),
    cidrBlockChain(config, topology, family),
    ...decisionChains(config),
  ];
  if (marksPlainPackets(config, family)) others.push(wireguardIncomingChain(config, family));
  if (topology.hostEndpoints) {
    base.push(
      hook("mangle", "prerouting", PRIORITY.mangle, CHAIN.prerouting),
      hook("filter", "output", PRIORITY.filter, CHAIN.output),
    );
    others.push(
      manglePreroutingChain(config),
      outputChain(config, topology, family, sets),
      ...failsafeChains("raw", config, family),
      ...failsafeChains("mangle", config, family),
      ...failsafeChains("filter", config, family),
    );
  }
  if (topology.hostEndpoints || topology.dscp[family] || topology.ambient) {
    base.push(hook("mangle", "postrouting", PRIORITY.mangle, CHAIN.postrouting));
    others.push(manglePostroutingChain(config, topology, family, sets));
  }
  if (topology.hostEndpoints || topology.vxlan[family]) {
    base.push(hook("raw", "output", PRIORITY.raw, CHAIN.output));
    others.push(rawOutputChain(config, topology, family));
  }
  const natPrerouting = natPreroutingChain(config, topology, family);
  if (natPrerouting.rules.length > 0) {
    base.push(hook("nat", "prerouting", PRIORITY.natDestination, CHAIN.prerouting));
    others.push(natPrerouting);
  }
  if (topology.floatingIps[family]) {
    base.push(hook("nat", "output", PRIORITY.natDestination, CHAIN.output));
    others.push(natOutputChain());
  }
  if (hasPostrouting(config, topology, family)) {
    base.push(hook("nat", "postrouting", PRIORITY.natPostrouting, CHAIN.postrouting));
    others.push(natPostroutingChain(config, topology, family, sets));
  }
  return { base, others };
}

function hook(
  layer: Layer,
  at: BaseChain["hook"],
  priority: number,
  target: string,
  after: readonly RuleState[] = [],
): ChainState {
  return {
    name: layered(layer, HOOK_CHAIN[at]),
    base: { type: layer === "nat" ? "nat" : "filter", hook: at, priority, policy: "accept" },
    rules: [rule(jump(layered(layer, target))), ...after],
  };
}
