import type { LintContext } from "../context.ts";
import { actionOf, type Direction, type DirectionView, isUnconditional, type PolicyView } from "../policy-view.ts";
import type { Warning } from "../warning.ts";

/** Policies in tiers that are not there, and policies after which the tier denies what they do not name. */
export function* tierWarnings(context: LintContext): Iterable<Warning> {
  const { policies, population } = context;
  for (const policy of policies) {
    const { entry, v1, isCalico, isStaged } = policy;
    const tier = population.tiers.get(v1.tier);
    if (tier === undefined) {
      // The tiers may be elsewhere, as the pods may.
      if (!population.hasEndpoints && !population.hasOwnTiers) continue;
      const message = `There is no tier "${v1.tier}": the policy does nothing`;
      yield { code: "missing-tier", entry, field: "spec.tier", message };
      continue;
    }
    if (!isCalico || isStaged || tier.defaultAction !== "Deny" || v1.untracked === true || v1.pre_dnat === true)
      continue;
    for (const view of policy.directions) {
      if (!deniesSome(view) || othersDecide(policy, view.direction, context)) continue;
      const { direction } = view;
      const rest = `all other ${direction} of what the policy selects is denied too, at the end of the tier "${v1.tier}"`;
      const message = `No rule allows or passes: ${rest}; if only this is to be denied, add an Allow or Pass rule at the end`;
      yield { code: "tier-end-denies-rest", entry, field: `spec.${direction}`, message };
    }
  }
}

/** Denies something in particular, and lets nothing go: an unconditional deny means what it says. */
function deniesSome({ isTyped, rules }: DirectionView): boolean {
  const all = rules.flatMap(({ v1 }) => v1);
  const actions = all.map(actionOf);
  if (!isTyped || !actions.includes("deny") || actions.includes("allow") || actions.includes("pass")) return false;
  return !all.some((rule) => actionOf(rule) === "deny" && isUnconditional(rule));
}

/** True if every endpoint that the policy selects has another policy in the tier that lets something go. */
function othersDecide(policy: PolicyView, direction: Direction, { policies, population }: LintContext): boolean {
  const others = policies.filter(
    (other) =>
      other !== policy &&
      !other.isStaged &&
      other.v1.tier === policy.v1.tier &&
      letsGo(other, direction) &&
      (other.key.namespace === "" || policy.key.namespace === "" || other.key.namespace === policy.key.namespace),
  );
  if (others.length === 0) return false;
  const mine = population.pick(policy.v1.selector);
  if (!population.hasEndpoints || mine === undefined || mine.size === 0) return true;
  const theirs = others.map((other) => population.pick(other.v1.selector));
  return [...mine].every((member) => theirs.some((picked) => picked?.has(member) === true));
}

function letsGo({ v1 }: PolicyView, direction: Direction): boolean {
  const types = v1.types ?? [];
  if (types.length > 0 && !types.includes(direction)) return false;
  const rules = direction === "ingress" ? v1.inbound_rules : v1.outbound_rules;
  return rules.some((rule) => actionOf(rule) === "allow" || actionOf(rule) === "pass");
}
