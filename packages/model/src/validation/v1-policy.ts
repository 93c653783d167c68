import { isObject } from "../v3/json-object.ts";
import { isAbsent } from "./field.ts";
import { expectedBut, type IssueList } from "./issue.ts";
import { nameProblem } from "./name.ts";
import { selectorProblem } from "./selector-text.ts";
import { ruleIssues } from "./v1-rule.ts";

/** The only hint there is: keep the policy programmed even where no endpoint has it. */
export const PERFORMANCE_HINTS: readonly string[] = ["AssumeNeededOnEveryNode"];

const TYPES: ReadonlySet<string> = new Set(["ingress", "egress"]);

function checkRules(issues: IssueList, path: string, rules: unknown): void {
  if (isAbsent(rules)) return;
  if (!Array.isArray(rules)) {
    issues.add(path, expectedBut("a list of rules", rules));
    return;
  }
  for (let i = 0; i < rules.length; i++) {
    for (const issue of ruleIssues(rules[i])) {
      const below = issue.path === "" ? "" : `.${issue.path}`;
      issues.add(`${path}[${i}]${below}`, issue.message);
    }
  }
}

/** Rules in both directions: of a policy or of a profile. */
export function checkRuleLists(issues: IssueList, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("an object", value));
    return;
  }
  checkRules(issues, "inbound_rules", value["inbound_rules"]);
  checkRules(issues, "outbound_rules", value["outbound_rules"]);
}

/** What is wrong with a policy field that is not a list of rules; undefined where nothing is. */
export type PolicyFieldCheck = (value: unknown) => string | undefined;

const boolean: PolicyFieldCheck = (value) =>
  typeof value === "boolean" ? undefined : expectedBut("true or false", value);
const text: PolicyFieldCheck = (value) => (typeof value === "string" ? undefined : expectedBut("a string", value));

/** The fields of a policy beside its rules, with their checks. */
export const POLICY_FIELDS: ReadonlyMap<string, PolicyFieldCheck> = new Map<string, PolicyFieldCheck>([
  ["namespace", text],
  ["tier", (value) => (value === "" ? undefined : nameProblem(value))],
  ["order", (value) => (Number.isFinite(value) ? undefined : expectedBut("a number", value))],
  ["selector", (value) => selectorProblem(value)],
  ["untracked", boolean],
  ["pre_dnat", boolean],
  ["apply_on_forward", boolean],
  ["types", typesProblem],
  ["performance_hints", hintsProblem],
  ["staged_action", text],
  [
    "annotations",
    (value) => (value instanceof Map || isObject(value) ? undefined : expectedBut("a map of strings", value)),
  ],
]);

function typesProblem(value: unknown): string | undefined {
  const good = Array.isArray(value) && value.every((type) => typeof type === "string" && TYPES.has(type.toLowerCase()));
  return good ? undefined : expectedBut('a list of "ingress" and "egress"', value);
}

function hintsProblem(value: unknown): string | undefined {
  const good =
    Array.isArray(value) &&
    value.every((hint) => PERFORMANCE_HINTS.includes(hint)) &&
    new Set(value).size === value.length;
  return good ? undefined : expectedBut(`a list of ${PERFORMANCE_HINTS.join(", ")}, none twice`, value);
}

/** The two ways past connection tracking and NAT exclude each other. */
export function bypassProblem(value: Readonly<Record<string, unknown>>): string | undefined {
  return value["untracked"] === true && value["pre_dnat"] === true
    ? "A policy is either untracked or before DNAT, not both"
    : undefined;
}

/** Everything that is wrong with a v1 policy. */
export function checkPolicy(issues: IssueList, value: unknown): void {
  checkRuleLists(issues, value);
  if (!isObject(value)) return;
  for (const [name, check] of POLICY_FIELDS) {
    const field = value[name];
    if (!isAbsent(field)) issues.check(name, check(field));
  }
  issues.check("pre_dnat", bypassProblem(value));
}
