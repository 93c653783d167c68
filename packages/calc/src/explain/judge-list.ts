import type { DataplaneRule, TierInfo } from "@bulrush/proto";
import { isStaged, policyIdText } from "../state/id-text.ts";
import type { ExplainStep, Outcome } from "./flow.ts";
import { type MatchContext, matchRule } from "./match-rule.ts";

export type Direction = "egress" | "ingress";

/** The lists that judge a packet at one point of its way. */
export interface JudgedLists {
  readonly direction: Direction;
  readonly tiers: readonly TierInfo[];
  readonly profiles: readonly string[];
  /**
   * What is done with a packet that no rule has decided.
   *
   * - all: a tier with an enforced policy ends in its default action; then come the profiles; then deny.
   * - tiers: tiers end so, and what all of them pass is left to others (forwarded traffic at a host endpoint).
   * - none: nothing ends (doNotTrack and preDNAT, which only add to what normal policy says).
   */
  readonly ends: "all" | "tiers" | "none";
}

/** A what-if. */
export interface JudgeOptions {
  /** This one does not hold: asks what would have decided without it. */
  readonly without?: Pick<ExplainStep, "tier" | "policy" | "rule">;
  /** Staged policies are enforced, and policies of these ids (`kind/namespace/name`) give way to them. */
  readonly enforced?: ReadonlySet<string>;
}

export interface ListVerdict extends Outcome {
  readonly steps: readonly ExplainStep[];
}

/**
 * ```
 *   tiers in order ---> policies in order ---> rules in order
 *     |                                          log: goes on; allow, deny: decided; pass: next tier
 *     |  no rule matched and the tier has an enforced policy: its default (Deny: decided; Pass: next tier)
 *     v
 *   profiles in order (their rules likewise; pass: next profile) ---> deny
 * ```
 */
export function judgeList(context: MatchContext, lists: JudgedLists, options: JudgeOptions = {}): ListVerdict {
  const steps: ExplainStep[] = [];
  const walk: Walk = { context, direction: lists.direction, options, steps };
  const decided = (step: ExplainStep, why: string): ListVerdict => ({
    verdict: step.action === "allow" ? "allow" : "deny",
    tier: step.tier,
    policy: step.policy,
    rule: step.rule,
    why,
    steps,
  });
  for (const tier of lists.tiers) {
    const end = runTier(walk, tier);
    if (end === "pass" || end === "empty") continue;
    if (end !== "end") return decided(end, `${end.policy} rule ${end.rule} ${verb(end)} it`);
    if (lists.ends === "none" || isLeftOut(options, { tier: tier.name, policy: "", rule: null })) continue;
    const passes = tier.default_action === "Pass";
    const why = passes
      ? `no rule in tier ${tier.name} matched; the tier passes what it does not decide`
      : `no rule in tier ${tier.name} matched, and policies in it apply to the endpoint (${namesOf(walk, tier)}): the tier denies the rest`;
    const step = ended(tier.name, passes ? "pass" : "deny", why);
    steps.push(step);
    if (!passes) return decided(step, why);
  }
  if (lists.ends !== "all")
    return {
      verdict: "none",
      tier: "",
      policy: "",
      rule: null,
      why: "no rule decided: it is left to what follows",
      steps,
    };
  for (const name of lists.profiles) {
    const rules = context.state.profiles.get(name)?.[ruleListOf(lists.direction)];
    const end = runRules(walk, "", `profile/${name}`, rules ?? []);
    if (end === undefined || end.action === "pass") continue;
    return decided(end, `profile ${name} rule ${end.rule} ${verb(end)} it`);
  }
  const why =
    lists.profiles.length === 0
      ? "no policy decided, and the endpoint has no profile: the rest is denied"
      : "neither policies nor profiles decided: the rest is denied";
  const step = ended("", "deny", why);
  steps.push(step);
  return decided(step, why);
}

interface Walk {
  readonly context: MatchContext;
  readonly direction: Direction;
  readonly options: JudgeOptions;
  readonly steps: ExplainStep[];
}

/** The deciding step; "pass" where a rule passed; "end" where none decided; "empty" where nothing is enforced. */
function runTier(walk: Walk, { name: tier, ...lists }: TierInfo): ExplainStep | "pass" | "end" | "empty" {
  const { enforced } = walk.options;
  let isEmpty = true;
  for (const id of lists[`${walk.direction}_policies`]) {
    const text = policyIdText(id);
    if (enforced === undefined && isStaged(id)) {
      const why = "the policy is staged: it is listed, and enforces nothing";
      walk.steps.push({ tier, policy: text, rule: null, outcome: "skipped", action: "none", why });
      continue;
    }
    if (enforced?.has(text) === true) {
      const why = "the staged policy of this name takes its place";
      walk.steps.push({ tier, policy: text, rule: null, outcome: "skipped", action: "none", why });
      continue;
    }
    isEmpty = false;
    const rules = walk.context.state.policies.get(text)?.policy[ruleListOf(walk.direction)];
    const end = runRules(walk, tier, text, rules ?? []);
    if (end === undefined) continue;
    return end.action === "pass" ? "pass" : end;
  }
  return isEmpty ? "empty" : "end";
}

/** Of a long list the first few. */
const MAX_NAMES = 5;

/** The policies that make a tier end: those that are enforced for the endpoint, also without any rule. */
function namesOf({ direction, options: { enforced } }: Walk, tier: TierInfo): string {
  const ids = tier[`${direction}_policies`].filter((id) =>
    enforced === undefined ? !isStaged(id) : !enforced.has(policyIdText(id)),
  );
  const more = ids.length > MAX_NAMES ? ` and ${ids.length - MAX_NAMES} more` : "";
  return `${ids.slice(0, MAX_NAMES).map(policyIdText).join(", ")}${more}`;
}

/** Pushes a step per rule looked at; returns the last one when it ends the list. */
function runRules(
  { context, options, steps }: Walk,
  tier: string,
  policy: string,
  rules: readonly DataplaneRule[],
): ExplainStep | undefined {
  for (const [i, rule] of rules.entries()) {
    if (isLeftOut(options, { tier, policy, rule: i })) continue;
    const result = matchRule(rule, context);
    if (result.outcome !== "matched") {
      steps.push({ tier, policy, rule: i, outcome: result.outcome, action: "none", why: result.why });
      continue;
    }
    const why = rule.action === "log" ? "matches: logged, and goes on" : "all conditions hold";
    const step: ExplainStep = { tier, policy, rule: i, outcome: "matched", action: rule.action, why };
    steps.push(step);
    if (rule.action !== "log") return step;
  }
  return undefined;
}

function isLeftOut({ without }: JudgeOptions, step: Pick<ExplainStep, "tier" | "policy" | "rule">): boolean {
  return without?.tier === step.tier && without.policy === step.policy && without.rule === step.rule;
}

function ruleListOf(direction: Direction): "inbound_rules" | "outbound_rules" {
  return direction === "ingress" ? "inbound_rules" : "outbound_rules";
}

function ended(tier: string, action: "pass" | "deny", why: string): ExplainStep {
  return { tier, policy: "", rule: null, outcome: "ended", action, why };
}

function verb({ action }: ExplainStep): string {
  return action === "allow" ? "allows" : "denies";
}
