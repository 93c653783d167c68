import { createHash } from "node:crypto";
import type { ChainState, RuleState } from "@bulrush/nftables";
import type { PolicyID } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { chain, type Layer, layered, rule } from "./layer.ts";
import { type Direction, policyChain, policyWord } from "./names.ts";
import { jump, match, meta, RETURN, unmarked, verdict } from "./statements.ts";

/** Jumps between two looks at whether the packet is decided. */
export const STRIDE = 5;

/**
 * Consecutive policies of a tier that apply to the same endpoints, since their selectors are equal. A group of several
 * has a chain, which the chains of all those endpoints share.
 */
export type PolicyGroup = readonly PolicyID[];

/** `policies` are those of one tier and direction that count, in order. `undefined` stands for no known selector. */
export function groupPolicies(
  policies: readonly PolicyID[],
  selectorOf: (id: PolicyID) => string | undefined,
): PolicyGroup[] {
  const groups: PolicyID[][] = [];
  let before: string | undefined;
  for (const id of policies) {
    const selector = selectorOf(id);
    const last = groups.at(-1);
    if (last !== undefined && selector !== undefined && selector === before) last.push(id);
    else groups.push([id]);
    before = selector;
  }
  return groups;
}

/** The chain that stands for a group, without the layer: of its one policy, or its own, named after what is in it. */
export function groupChain(direction: Direction, group: PolicyGroup): string {
  const [only, second] = group;
  if (only !== undefined && second === undefined) return policyChain(direction, only);
  const hash = createHash("sha3-224");
  for (const id of group) hash.update(`${policyWord(id)}\n`);
  return `${direction === "ingress" ? "cali-gi-" : "cali-go-"}${hash.digest("base64url")}`;
}

/**
 * Asks each policy in turn, as the endpoint's own chain would. Undecided packets are what most jumps are made for: only
 * every fifth asks first whether there is anything left to decide, and ends the chain if not.
 *
 *     jump 1, if undecided: jump 2, 3, 4, 5    decided: return    jump 6, if undecided: jump 7, ...
 */
export function renderGroupChain(
  layer: Layer,
  direction: Direction,
  group: PolicyGroup,
  { marks }: DataplaneConfig,
): ChainState {
  const decided = marks.accept + marks.pass;
  const rules: RuleState[] = [];
  for (const [i, id] of group.entries()) {
    const target = jump(layered(layer, policyChain(direction, id)));
    const isFirst = i % STRIDE === 0;
    if (isFirst && i > 0)
      rules.push(rule(match(meta("mark"), "!=", { kind: "masked", mask: decided, value: 0 }), verdict(RETURN)));
    rules.push(isFirst ? rule(target) : rule(unmarked(decided), target));
  }
  return chain(layer, groupChain(direction, group), rules);
}
