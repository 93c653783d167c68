import type { ChainState, RuleState, Statement } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { flowLogRules } from "../flow-log/flow-log-rule.ts";
import { decide } from "./decision-chains.ts";
import { chain, commented, type Layer, layered, rule } from "./layer.ts";
import type { GroupedTier } from "../manager/policy-groups.ts";
import { type Direction, profileChain } from "./names.ts";
import { groupChain, STRIDE } from "./policy-groups.ts";
import { commentText } from "./rule/comment.ts";
import {
  clearMark,
  COUNTER,
  equals,
  established,
  invalid,
  jump,
  marked,
  meta,
  port,
  RETURN,
  setMark,
  unmarked,
  verdict,
} from "./statements.ts";
import { allow, deny } from "./verdicts.ts";

/** IP in IP (IANA protocol 4), which nft names differently from version to version. */
const IPIP_PROTOCOL = 4;

/** What one chain of one endpoint is made of. */
export interface EndpointChainInput {
  readonly name: string;
  readonly layer: Layer;
  readonly direction: Direction;
  /**
   * - `workload`: tw-, fw-.   - `host`: th-, fh- in filter, and th- in mangle for what was DNATed.
   * - `forward`: thfw-, fhfw-.   - `untracked`: th-, fh- in raw.   - `pre-dnat`: fh- in mangle.
   */
  readonly kind: "workload" | "host" | "forward" | "untracked" | "pre-dnat";
  /** An endpoint that is down by its owner's wish lets nothing through. */
  readonly adminUp: boolean;
  /** Those with policies that count in this direction. */
  readonly tiers: readonly GroupedTier[];
  readonly profiles: readonly string[];
  /** Of a workload: what it sends itself, by way of a service that chose it, is let through. */
  readonly interfaceName?: string;
  /** Jumped to behind what is established, for workloads whose connections are bounded. */
  readonly connectionLimitChain?: string;
  /** Jumped to ahead of policy, for host endpoints. */
  readonly failsafeChain?: string;
}

/** Rules that are the same in every endpoint chain of a layer: made once, so that comparing them costs nothing. */
interface CommonRules {
  /** To a chain, and to a chain while nothing has decided over the packet. */
  readonly jumps: Map<string, RuleState>;
  readonly jumpsIfUndecided: Map<string, RuleState>;
  readonly established: RuleState;
  readonly invalid: RuleState;
  readonly clearVerdict: RuleState;
  readonly untrackAccepted: RuleState;
  readonly returnAccepted: RuleState;
  readonly noProfile: RuleState;
}

const commonRules = new WeakMap<DataplaneConfig, Map<Layer, CommonRules>>();

function common(layer: Layer, config: DataplaneConfig): CommonRules {
  const byLayer = commonRules.get(config) ?? new Map<Layer, CommonRules>();
  commonRules.set(config, byLayer);
  const known = byLayer.get(layer);
  if (known !== undefined) return known;
  const { accept, pass } = config.marks;
  const made: CommonRules = {
    jumps: new Map(),
    jumpsIfUndecided: new Map(),
    established: rule(established(), ...allow(layer, config)),
    invalid: rule(invalid(), ...deny(layer, config)),
    clearVerdict: rule(clearMark(accept + pass)),
    untrackAccepted: rule(marked(accept), { kind: "notrack" }),
    returnAccepted: rule(marked(accept), verdict(RETURN)),
    noProfile: commented("Drop if no profiles matched", ...deny(layer, config)),
  };
  byLayer.set(layer, made);
  return made;
}

/** The chain that decides over the packets of one endpoint in one direction. It returns with the accept bit set, or denies. */
export function renderEndpointChain(input: EndpointChainInput, config: DataplaneConfig): ChainState {
  if (!input.adminUp)
    return chain(input.layer, input.name, [commented("Endpoint admin down", ...deny(input.layer, config))]);
  const jumpIf = (target: string | undefined): RuleState[] =>
    target === undefined ? [] : [rule(jump(layered(input.layer, target)))];
  return chain(input.layer, input.name, [
    ...conntrackRules(input, config),
    ...jumpIf(input.connectionLimitChain),
    ...jumpIf(input.failsafeChain),
    ...toItself(input),
    common(input.layer, config).clearVerdict,
    ...tunnelRules(input, config),
    ...tierRules(input, config),
    ...endRules(input, config),
  ]);
}

/** Packets of a flow that was allowed once, and packets that belong to none. Raw runs ahead of conntrack. */
function conntrackRules({ kind, layer }: EndpointChainInput, config: DataplaneConfig): RuleState[] {
  if (kind === "untracked") return [];
  const shared = common(layer, config);
  return config.disableConntrackInvalidCheck ? [shared.established] : [shared.established, shared.invalid];
}

/**
 * No policy sees what a workload sends to its own address. Where it calls a service, and the backend that is chosen is
 * itself, the packet goes out and comes back by one interface: that is the same, and is as if policy allowed it.
 */
function toItself({ direction, interfaceName, layer }: EndpointChainInput): RuleState[] {
  if (interfaceName === undefined) return [];
  const isBack = equals(meta(direction === "egress" ? "oifname" : "iifname"), interfaceName);
  return [commented("To itself, by a service", isBack, COUNTER, decide(layer, "accepted"))];
}

/** A workload must not put packets into the cluster's tunnels. */
function tunnelRules({ kind, direction, layer }: EndpointChainInput, config: DataplaneConfig): RuleState[] {
  if (kind !== "workload" || direction !== "egress") return [];
  const rules: RuleState[] = [];
  if (!config.allowVxlanFromWorkloads)
    rules.push(
      commented(
        "Drop VXLAN encapped packets originating in workloads",
        equals(meta("l4proto"), "udp"),
        equals(port("dst"), config.vxlanPort),
        ...deny(layer, config),
      ),
    );
  if (!config.allowIpipFromWorkloads)
    rules.push(
      commented(
        "Drop IPinIP encapped packets originating in workloads",
        equals(meta("l4proto"), IPIP_PROTOCOL),
        ...deny(layer, config),
      ),
    );
  return rules;
}

/**
 * Each tier asks its policies and groups in turn. Undecided packets are what most jumps are made for: only every fifth
 * asks first whether the packet is accepted, and leaves with it if so.
 *
 *     nothing is passed    jump 1, if undecided: jump 2, 3, 4, 5    accepted: return    if undecided: jump 6, 7, ...
 *     accepted: return     not passed: deny
 */
function tierRules({ direction, kind, layer, tiers }: EndpointChainInput, config: DataplaneConfig): RuleState[] {
  const { accept, pass } = config.marks;
  const { jumps, jumpsIfUndecided, returnAccepted, untrackAccepted } = common(layer, config);
  const leave = kind === "untracked" ? [untrackAccepted, returnAccepted] : [returnAccepted];
  const rules: RuleState[] = [];
  for (const { endsIn, groups, name } of tiers) {
    rules.push(commented(commentText(`Start of tier ${name}`), clearMark(pass)));
    for (const [i, group] of groups.entries()) {
      const target = layered(layer, groupChain(direction, group));
      if (i > 0 && i % STRIDE === 0) rules.push(...leave);
      rules.push(i === 0 ? jumpTo(target, jumps) : jumpTo(target, jumpsIfUndecided, unmarked(accept + pass)));
    }
    if (groups.length > 0) rules.push(...leave);
    // Untracked and pre-DNAT policy only adds to what normal policy says: nothing ends there.
    const ends = kind === "workload" || kind === "host" || kind === "forward";
    if (ends && endsIn !== "Pass")
      rules.push(
        ...flowLogRules(
          [unmarked(pass)],
          { verdict: "deny", direction, tier: name, policy: "", rule: "end of tier" },
          config,
        ),
        commented(commentText(`End of tier ${name}`), unmarked(pass), ...deny(layer, config)),
      );
  }
  return rules;
}

/** More chains than the policies of any host; beyond it the rules are made anew. */
const MAX_JUMPS = 16_384;

/** Endpoints under the same policies have the same rules. */
function jumpTo(chainName: string, known: Map<string, RuleState>, ...condition: readonly Statement[]): RuleState {
  let made = known.get(chainName);
  if (made === undefined) {
    made = rule(...condition, jump(chainName));
    if (known.size >= MAX_JUMPS) known.clear();
    known.set(chainName, made);
  }
  return made;
}

/** What happens to a packet that no tier has decided. */
function endRules(input: EndpointChainInput, config: DataplaneConfig): RuleState[] {
  const { direction, kind, layer } = input;
  const { accept } = config.marks;
  switch (kind) {
    case "untracked":
    case "pre-dnat":
      return [];
    case "forward":
      // Without apply-on-forward policy, forwarded packets are none of the host endpoint's business. With it, what
      // every tier has passed is left to the workload chains that follow.
      return input.tiers.length > 0 ? [] : [rule(setMark(accept), verdict(RETURN))];
    default:
      return [
        ...input.profiles.flatMap((profile) => [
          rule(jump(layered(layer, profileChain(direction, profile)))),
          common(layer, config).returnAccepted,
        ]),
        ...flowLogRules([], { verdict: "deny", direction, tier: "", policy: "", rule: "no profile" }, config),
        common(layer, config).noProfile,
      ];
  }
}
