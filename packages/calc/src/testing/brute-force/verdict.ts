import type { HostEndpoint, Policy, Rule, WorkloadEndpoint } from "@bulrush/model";
import type { ExplainStep } from "../../explain/flow.ts";
import { entriesOf, type View } from "./contents.ts";
import { missOf, type Packet } from "./packet.ts";
import { hasType, orderedTiers, policiesFor } from "./policies.ts";
import { actionOf } from "./rules.ts";

/** A step without its words. */
type NaiveStep = Omit<ExplainStep, "why">;

/** What one end says of a packet, and every reason that was met on the way. */
export interface NaiveVerdict {
  /** "none": of a part of a host endpoint's policy that leaves the packet to others. */
  readonly verdict: "allow" | "deny" | "none";
  readonly tier: string;
  readonly policy: string;
  readonly rule: number | null;
  readonly steps: readonly NaiveStep[];
  readonly reasons: readonly string[];
}

/**
 * Which policies judge: all of a workload, or of a host endpoint those for its own traffic, those that only look at
 * packets ahead of connection tracking or of DNAT, and those for traffic that passes through.
 */
export type Part = "normal" | "untracked" | "pre-dnat" | "forward";

function isPart(policy: Policy, part: Part): boolean {
  if (part === "untracked") return policy.untracked === true;
  if (part === "pre-dnat") return policy.pre_dnat === true && policy.untracked !== true;
  if (policy.untracked === true || policy.pre_dnat === true) return false;
  return part === "normal" || policy.apply_on_forward === true;
}

/** True where a part of a host endpoint has something to say in a direction, be it staged. */
export function hasPart(view: View, endpoint: HostEndpoint, direction: "ingress" | "egress", part: Part): boolean {
  return policiesFor(view, endpoint).some(({ policy }) => isPart(policy, part) && hasType(policy, direction));
}

/**
 * Judges a packet at one endpoint by reading all policies, tiers and profiles: tiers, policies and rules in order, the
 * first allow, deny or pass decides; a tier that has an enforced policy in this direction ends in its default action;
 * then the profiles; then deny.
 */
export function judge(
  view: View,
  endpoint: WorkloadEndpoint | HostEndpoint,
  direction: "ingress" | "egress",
  packet: Packet,
  part: Part = "normal",
): NaiveVerdict {
  const steps: NaiveStep[] = [];
  const reasons: string[] = [];
  const decided = (step: NaiveStep, reason: string): NaiveVerdict => {
    const { tier, policy, rule, action } = step;
    if (step.outcome === "ended") steps.push(step);
    reasons.push(reason);
    return { verdict: action === "allow" ? "allow" : "deny", tier, policy, rule, steps, reasons };
  };
  const end: NaiveStep = { tier: "", policy: "", rule: null, outcome: "ended", action: "deny" };
  if ("state" in endpoint && endpoint.state === "inactive") return decided(end, "inactive");

  /** The step that decides, if a rule does. */
  const tryRules = (tier: string, policy: string, rules: readonly Rule[]): NaiveStep | undefined => {
    for (const [index, rule] of rules.entries()) {
      const miss = missOf(view.contents, rule, packet);
      if (miss !== undefined) {
        steps.push({ tier, policy, rule: index, outcome: miss.outcome, action: "none" });
        reasons.push(miss.outcome === "omitted" ? miss.why : `not-matched ${miss.why}`);
        continue;
      }
      const action = actionOf(rule);
      const step: NaiveStep = { tier, policy, rule: index, outcome: "matched", action };
      steps.push(step);
      if (action !== "log") return step;
      reasons.push("log");
    }
    return undefined;
  };

  const lists = direction === "ingress" ? "inbound_rules" : "outbound_rules";
  const policies = policiesFor(view, endpoint).filter(
    ({ policy }) => isPart(policy, part) && hasType(policy, direction),
  );
  tiers: for (const tier of orderedTiers(view, policies)) {
    let isEnforced = false;
    for (const { key, policy } of tier.policies) {
      const text = key.namespace === "" ? `${key.kind}/${key.name}` : `${key.kind}/${key.namespace}/${key.name}`;
      if (key.kind.startsWith("Staged")) {
        steps.push({ tier: tier.name, policy: text, rule: null, outcome: "skipped", action: "none" });
        reasons.push("staged");
        continue;
      }
      isEnforced = true;
      const step = tryRules(tier.name, text, policy[lists]);
      if (step?.action === "pass") {
        reasons.push("pass");
        continue tiers;
      }
      if (step !== undefined) return decided(step, `${step.action} by a policy`);
    }
    if (!isEnforced) {
      reasons.push("tier without an enforced policy");
      continue;
    }
    // Those parts only add to what normal policy says.
    if (part === "untracked" || part === "pre-dnat") continue;
    const action = tier.action === "Pass" ? "pass" : "deny";
    const step: NaiveStep = { tier: tier.name, policy: "", rule: null, outcome: "ended", action };
    if (action === "deny") return decided(step, tier.action === "" ? "end of an unknown tier" : "end of a tier");
    steps.push(step);
    reasons.push("end of a tier that passes");
  }
  if (part !== "normal") return { verdict: "none", tier: "", policy: "", rule: null, steps, reasons };
  for (const id of endpoint.profile_ids) {
    const profile = entriesOf(view.contents, "ProfileRules").find(([key]) => key.name === id)?.[1];
    const step = tryRules("", `profile/${id}`, profile === undefined ? [{ action: "deny" }] : profile[lists]);
    // There is no tier after this one: the profile says nothing more.
    if (step?.action === "pass") {
      reasons.push("pass in a profile");
      continue;
    }
    if (step !== undefined)
      return decided(step, profile === undefined ? "unknown profile" : `${step.action} by a profile`);
  }
  return decided(end, endpoint.profile_ids.length === 0 ? "no profile" : "no profile decided");
}
