import type { Policy, PolicyKind, Rule, Tier } from "@bulrush/model";
import type { KV } from "../harness.ts";
import type { Dice } from "./dice.ts";
import { PROFILES } from "./random-endpoint.ts";
import { focusedRule, NAMESPACES, randomRule } from "./random-rule.ts";
import { randomSelector } from "./random-selector.ts";

export const TIERS = ["default", "tier-a", "tier-b", "tier-c"] as const;

/** Each kind and whether it is namespaced; the more often, the more of them. */
export const KINDS: readonly (readonly [PolicyKind, namespaced: boolean])[] = [
  ["NetworkPolicy", true],
  ["GlobalNetworkPolicy", false],
  ["GlobalNetworkPolicy", false],
  ["KubernetesNetworkPolicy", true],
  ["KubernetesClusterNetworkPolicy", false],
  ["StagedNetworkPolicy", true],
  ["StagedGlobalNetworkPolicy", false],
  ["StagedKubernetesNetworkPolicy", true],
];

export function randomPolicy(d: Dice, rule: (d: Dice) => Rule = randomRule): KV {
  const [kind, namespaced] = d.pick(KINDS);
  const namespace = namespaced ? d.pick(NAMESPACES) : "";
  const value: Policy = {
    ...((namespaced || d.chance(0.3)) && { namespace }),
    tier: d.pick([...TIERS, "default", ""]),
    ...(d.chance(0.7) && { order: d.pick([-1, 10, 10, 20, 0.5]) }),
    inbound_rules: d.many(3, () => rule(d)),
    outbound_rules: d.many(3, () => rule(d)),
    selector: d.chance(0.4) ? d.pick(["all()", "", "has(app)"]) : randomSelector(d),
    // The two exclude each other.
    ...(d.chance(0.3) && d.pick([{ untracked: true }, { untracked: false }, { pre_dnat: true }, { pre_dnat: false }])),
    ...(d.chance(0.3) && { apply_on_forward: d.chance(0.8) }),
    ...(d.chance(0.6) && { types: d.pick([["ingress"], ["egress"], ["Ingress", "Egress"], []]) }),
    ...(d.chance(0.1) && { performance_hints: d.pick([["AssumeNeededOnEveryNode"], []]) }),
    ...(kind.startsWith("Staged") && d.chance(0.5) && { staged_action: d.pick(["Set", "Delete", "Learn", "Ignore"]) }),
    ...(d.chance(0.1) && { annotations: new Map([["note", "x"]]) }),
  };
  return { key: { type: "Policy", kind, namespace, name: `pol-${d.below(3)}` }, value };
}

export function randomTier(d: Dice): KV {
  const value: Tier = {
    ...(d.chance(0.8) && { order: d.pick([1, 2, 2, 1_000_000]) }),
    defaultAction: d.pick(["Deny", "Pass"]),
  };
  return { key: { type: "Tier", name: d.pick(TIERS) }, value };
}

export function randomProfileRules(d: Dice): KV {
  const value = {
    inbound_rules: d.many(2, () => focusedRule(d)),
    outbound_rules: d.many(2, () => focusedRule(d)),
  };
  return { key: { type: "ProfileRules", name: d.pick(PROFILES) }, value };
}
