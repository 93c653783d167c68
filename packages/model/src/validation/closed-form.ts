import type { PolicyKey } from "../v1/key.ts";
import type { Rule } from "../v1/rule.ts";
import type { Policy, Tier } from "../v1/value.ts";
import { ORCHESTRATOR_LABEL } from "../v1/well-known.ts";
import { namespaceTerm } from "../v1/namespace-term.ts";
import { isObject } from "../v3/json-object.ts";
import { type Fields, isAbsent } from "./field.ts";
import { bypassProblem, POLICY_FIELDS } from "./v1-policy.ts";
import { ruleIssues } from "./v1-rule.ts";

const DENY_ALL: Rule = { action: "deny" };

/** Before every order that a person would write, and still a number in JSON. */
const FIRST_ORDER = -Number.MAX_VALUE;

/** Everything that a policy of this kind and namespace could have meant by its applies-to selector. */
function scopeOf(key: PolicyKey): string {
  const terms: string[] = [];
  if (key.kind === "KubernetesNetworkPolicy" || key.kind === "KubernetesClusterNetworkPolicy")
    terms.push(`${ORCHESTRATOR_LABEL} == 'k8s'`);
  if (key.namespace !== "") terms.push(namespaceTerm(key.namespace));
  return terms.length === 0 ? "all()" : terms.join(" && ");
}

/**
 * What stands in for a policy that cannot be read in full and of which no earlier version is known. It lets through
 * nothing that the policy as it was meant could have stopped:
 *
 * | Unreadable | Becomes |
 * |---|---|
 * | an allow or log rule | nothing: it matches no packet |
 * | a deny or pass rule, or one with no readable action | a deny of all that its readable fields match |
 * | the applies-to selector, the tier or the order | every endpoint of the scope, the default tier, the first place; allow rules go, pass rules deny |
 * | a list of rules | one deny of everything |
 * | the types | both directions |
 * | the flags for untracked, pre-DNAT and forwarded traffic | a normal policy that also applies to forwarded traffic |
 * | hints, staged action, annotations | left out |
 *
 * What it returns is valid: `validateV1(key, closedPolicyForm(key, value))` finds no issue. A value without faults
 * comes back with the same meaning.
 */
export function closedPolicyForm(key: PolicyKey, value: unknown): Policy {
  const fields: Fields = isObject(value) ? value : {};
  const bad = (name: string): boolean => {
    const field = fields[name];
    return !isAbsent(field) && POLICY_FIELDS.get(name)?.(field) !== undefined;
  };
  const misplaced = !isObject(value) || bad("selector") || bad("tier") || bad("order");
  const kept: Record<string, unknown> = {};
  for (const name of ["types", "performance_hints", "staged_action", "annotations"])
    if (!isAbsent(fields[name]) && !bad(name)) kept[name] = fields[name];
  if (bad("order")) kept["order"] = FIRST_ORDER;
  else if (!isAbsent(fields["order"])) kept["order"] = fields["order"];
  if (bypassProblem(fields) !== undefined || bad("untracked") || bad("pre_dnat") || bad("apply_on_forward"))
    kept["apply_on_forward"] = true;
  else
    for (const name of ["untracked", "pre_dnat", "apply_on_forward"])
      if (!isAbsent(fields[name])) kept[name] = fields[name];
  const { selector, tier } = fields;
  return {
    ...kept,
    ...(key.namespace === "" ? {} : { namespace: key.namespace }),
    tier: typeof tier === "string" && tier !== "" && !bad("tier") ? tier : "default",
    inbound_rules: isObject(value) ? closedRules(fields["inbound_rules"], misplaced) : [DENY_ALL],
    outbound_rules: isObject(value) ? closedRules(fields["outbound_rules"], misplaced) : [DENY_ALL],
    selector: typeof selector === "string" && !bad("selector") ? selector : scopeOf(key),
  };
}

function closedRules(rules: unknown, misplaced: boolean): readonly Rule[] {
  if (isAbsent(rules)) return [];
  if (!Array.isArray(rules)) return [DENY_ALL];
  return rules.map((rule) => closedRule(rule, misplaced)).filter((rule) => rule !== undefined);
}

/**
 * The closed form of one rule; undefined when it goes. `misplaced`: the policy stands where it may not have been meant
 * to, so that even its good rules may let nothing through.
 */
function closedRule(rule: unknown, misplaced: boolean): Rule | undefined {
  if (!isObject(rule)) return DENY_ALL;
  const { action } = rule;
  const allows = isAbsent(action) || action === "" || action === "allow";
  const passes = action === "next-tier" || action === "pass";
  if (ruleIssues(rule).length === 0) {
    if (!misplaced || !(allows || passes)) return rule as Rule;
    return allows ? undefined : { ...(rule as Rule), action: "deny" };
  }
  if (allows || action === "log") return undefined;
  // Taking a field out may make another one unreadable (ports without their protocol), hence until nothing is left
  // to take; each turn takes at least one field.
  let readable: Fields = { ...rule, action: "deny" };
  for (let issues = ruleIssues(readable); issues.length > 0; issues = ruleIssues(readable)) {
    const gone = new Set(issues.flatMap((issue) => issue.fields));
    readable = Object.fromEntries(Object.entries(readable).filter(([name]) => !gone.has(name)));
  }
  return readable as Rule;
}

/** What stands in for a tier that cannot be read: its readable order, and a default action of Deny. */
export function closedTierForm(value: unknown): Tier {
  const order = isObject(value) ? value["order"] : undefined;
  return typeof order === "number" && Number.isFinite(order)
    ? { order, defaultAction: "Deny" }
    : { defaultAction: "Deny" };
}
