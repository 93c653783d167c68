import type { DataplaneRule } from "@bulrush/proto";
import type { IpSetDescription } from "../graph/calc-graph.ts";
import type { DataplaneState, StateWorkload } from "../state/dataplane-state.ts";
import { isStaged, policyIdText } from "../state/id-text.ts";
import type { ExplainStep, Flow, FlowVerdict, SideVerdict } from "./flow.ts";
import { type MatchContext, matchRule } from "./match-rule.ts";
import { resolveFlow } from "./packet.ts";

export interface ExplainDetails {
  /** Names the IP sets in the explanation: `(id) => graph.describeIpSet(id)`. */
  readonly describeIpSet?: (id: string) => IpSetDescription | undefined;
}

/**
 * Judges the first packet of a flow by the messages in `state`, which are the very ones that a dataplane renders: of a
 * graph with host name "*" for all hosts. The source's egress policies and the destination's ingress policies judge;
 * an end that is no known workload endpoint judges nothing (and a host always reaches its own workloads, which is
 * outside of this).
 *
 * Throws a CalcError when the flow is not one or names an endpoint that is not there.
 */
export function explainFlow(state: DataplaneState, flow: Flow, details?: ExplainDetails): FlowVerdict {
  const { packet, source, destination } = resolveFlow(state, flow);
  const context: MatchContext = { state, packet, describeIpSet: details?.describeIpSet };
  const egress = source && judge(context, source, "egress");
  const ingress = destination && judge(context, destination, "ingress");
  const denied = egress?.verdict === "deny" || ingress?.verdict === "deny";
  return {
    verdict: denied ? "deny" : "allow",
    ipVersion: packet.ipVersion,
    ...(egress && { egress }),
    ...(ingress && { ingress }),
  };
}

type Direction = "egress" | "ingress";

/**
 * ```
 *   tiers in order ---> policies in order ---> rules in order
 *     |                                          log: goes on; allow, deny: decided; pass: next tier
 *     |  no rule matched and the tier has an enforced policy: its default (Deny: decided; Pass: next tier)
 *     v
 *   profiles in order (their rules likewise; pass: next profile) ---> deny
 * ```
 */
function judge(context: MatchContext, workload: StateWorkload, direction: Direction): SideVerdict {
  const { endpoint } = workload;
  const steps: ExplainStep[] = [];
  const decide = (step: ExplainStep, why: string): SideVerdict => {
    steps.push(step);
    const verdict = step.action === "allow" ? "allow" : "deny";
    return { verdict, tier: step.tier, policy: step.policy, rule: step.rule, why, steps };
  };
  const address = direction === "egress" ? context.packet.source : context.packet.destination;
  if (endpoint.state !== "active" || address === undefined) {
    const why =
      endpoint.state === "active"
        ? `the endpoint has no IPv${context.packet.ipVersion} address`
        : `the endpoint is ${endpoint.state}, so nothing passes`;
    return decide({ tier: "", policy: "", rule: null, outcome: "ended", action: "deny", why }, why);
  }
  for (const tier of endpoint.tiers) {
    const end = runTier(context, tier.name, tier[`${direction}_policies`], direction, steps);
    if (end === "pass" || end === "empty") continue;
    if (end !== "end") {
      steps.pop();
      return decide(end, `${end.policy} rule ${end.rule} ${end.action === "allow" ? "allows" : "denies"} it`);
    }
    const passes = tier.default_action === "Pass";
    const why = passes
      ? `no rule in tier ${tier.name} matched; the tier passes what it does not decide`
      : `no rule in tier ${tier.name} matched, and policies in it apply to the endpoint: the tier denies the rest`;
    const action = passes ? "pass" : "deny";
    const step: ExplainStep = { tier: tier.name, policy: "", rule: null, outcome: "ended", action, why };
    if (!passes) return decide(step, why);
    steps.push(step);
  }
  for (const name of endpoint.profile_ids) {
    const rules = context.state.profiles.get(name)?.[direction === "ingress" ? "inbound_rules" : "outbound_rules"];
    const end = runRules(context, "", `profile/${name}`, rules ?? [], steps);
    if (end === undefined || end.action === "pass") continue;
    steps.pop();
    return decide(end, `profile ${name} rule ${end.rule} ${end.action === "allow" ? "allows" : "denies"} it`);
  }
  const why =
    endpoint.profile_ids.length === 0
      ? "no policy decided, and the endpoint has no profile: the rest is denied"
      : "neither policies nor profiles decided: the rest is denied";
  return decide({ tier: "", policy: "", rule: null, outcome: "ended", action: "deny", why }, why);
}

/** The deciding step; "pass" where a rule passed; "end" where none decided; "empty" where nothing is enforced. */
function runTier(
  context: MatchContext,
  tier: string,
  policies: StateWorkload["endpoint"]["tiers"][number]["ingress_policies"],
  direction: Direction,
  steps: ExplainStep[],
): ExplainStep | "pass" | "end" | "empty" {
  let enforced = 0;
  for (const id of policies) {
    const text = policyIdText(id);
    if (isStaged(id)) {
      const why = "the policy is staged: it is listed, and enforces nothing";
      steps.push({ tier, policy: text, rule: null, outcome: "skipped", action: "none", why });
      continue;
    }
    enforced++;
    const policy = context.state.policies.get(text)?.policy;
    const rules = policy?.[direction === "ingress" ? "inbound_rules" : "outbound_rules"] ?? [];
    const end = runRules(context, tier, text, rules, steps);
    if (end === undefined) continue;
    return end.action === "pass" ? "pass" : end;
  }
  return enforced === 0 ? "empty" : "end";
}

/** Pushes a step per rule looked at; returns the last one when it ends the list. */
function runRules(
  context: MatchContext,
  tier: string,
  policy: string,
  rules: readonly DataplaneRule[],
  steps: ExplainStep[],
): ExplainStep | undefined {
  for (const [i, rule] of rules.entries()) {
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
