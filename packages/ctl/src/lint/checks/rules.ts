import { isObject } from "@bulrush/model";
import type { LintContext } from "../context.ts";
import { actionOf, type DirectionView, isUnconditional, type PolicyView } from "../policy-view.ts";
import type { Warning } from "../warning.ts";

/** What can be seen in one policy by itself: types beside rules, rules that only log, rules after the last word. */
export function* ruleWarnings({ policies, population }: LintContext): Iterable<Warning> {
  for (const policy of policies) {
    const { entry, directions, v1 } = policy;
    const hasRules = directions.some(({ rules }) => rules.length > 0);
    const endsInDeny = (population.tiers.get(v1.tier)?.defaultAction ?? "Deny") === "Deny";
    for (const view of directions) {
      const { direction, isTyped, rules } = view;
      if (!isTyped && rules.length > 0) {
        const message = `These rules do nothing: ${typeOf(view)} is not among the policy's types`;
        yield { code: "rules-without-type", entry, field: `spec.${direction}`, message };
        continue;
      }
      // A policy without any rule is the well-known way to deny everything.
      if (isTyped && rules.length === 0 && hasRules && deniesWithoutRules(policy, endsInDeny)) {
        const message = `${typeOf(view)} is among the types and has no rules: all ${direction} of what the policy selects is denied`;
        yield { code: "type-without-rules", entry, field: typesField(policy), message };
      }
      if (!isTyped) continue;
      yield* logWarnings(policy, view, endsInDeny);
      yield* unreachable(policy, view);
    }
  }
}

function typeOf({ direction }: DirectionView): string {
  return direction === "ingress" ? "Ingress" : "Egress";
}

function typesField({ isCalico }: PolicyView): string {
  return isCalico ? "spec.types" : "spec.policyTypes";
}

/** A ClusterNetworkPolicy has a type only where it has rules; a tier that passes at its end denies nothing. */
function deniesWithoutRules({ key, spec, isCalico }: PolicyView, endsInDeny: boolean): boolean {
  if (key.kind === "KubernetesClusterNetworkPolicy" || !endsInDeny) return false;
  return Array.isArray(spec[isCalico ? "types" : "policyTypes"]);
}

function* logWarnings(
  { entry, isCalico, v1 }: PolicyView,
  view: DirectionView,
  endsInDeny: boolean,
): Iterable<Warning> {
  const { direction, rules } = view;
  const actions = rules.flatMap((rule) => rule.v1).map(actionOf);
  if (!isCalico || actions.length === 0 || actions.some((action) => action !== "log")) return;
  const rest = endsInDeny
    ? `a Log rule decides nothing, so all ${direction} is denied at the end of the tier "${v1.tier}"`
    : "a Log rule decides nothing";
  yield { code: "only-log-rules", entry, field: `spec.${direction}`, message: `All rules only log: ${rest}` };
}

function* unreachable({ entry }: PolicyView, { rules }: DirectionView): Iterable<Warning> {
  const last = rules.findIndex(({ v1 }) => v1.some((rule) => actionOf(rule) !== "log" && isUnconditional(rule)));
  const next = last < 0 ? undefined : rules[last + 1];
  if (next === undefined) return;
  const more = rules.length - last - 1;
  const what = more === 1 ? "This rule is" : `This rule and what follows (${more} rules) are`;
  const message = `${what} never looked at: rule ${last} before it matches everything`;
  if (isObject(next.written)) yield { code: "unreachable-rule", entry, field: next.field, message };
}
