import { unreachable } from "@bulrush/base";
import type { RuleState, Statement } from "@bulrush/nftables";
import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneConfig } from "../../config/dataplane-config.ts";
import { flowLogRules } from "../../flow-log/flow-log-rule.ts";
import type { Layer } from "../layer.ts";
import { type Direction, policyWord } from "../names.ts";
import type { SetLookup } from "../set-shape.ts";
import { decide } from "../decision-chains.ts";
import { COUNTER, type Family } from "../statements.ts";
import { deny } from "../verdicts.ts";
import { ruleComment } from "./comment.ts";
import { logPrefix, type RuleOwner } from "./log-prefix.ts";
import { matchBlocks } from "./match-blocks.ts";
import { ruleMatch } from "./rule-match.ts";

/** What a rule is rendered for. */
export interface RuleContext {
  readonly layer: Layer;
  readonly direction: Direction;
  readonly family: Family;
  readonly config: DataplaneConfig;
  readonly sets: SetLookup;
  readonly owner: RuleOwner;
}

/**
 * One rule of a policy or profile. Allow and pass leave a mark for the endpoint's chain, which looks at it;
 * deny ends the packet; log goes on. Nothing when the rule cannot match in this family.
 */
function renderRule(rule: DataplaneRule, index: number, context: RuleContext, out: RuleState[]): void {
  const matched = ruleMatch(rule, context.family, context.sets);
  if (matched === undefined) return;
  const { before, condition } = matchBlocks(matched.groups, context.config.marks);
  const matches = condition.length === 0 ? matched.statements : [...condition, ...matched.statements];
  if (before.length > 0) out.push(...before);
  const { action } = rule;
  if (action === "deny" || action === "log") out.push(...logged(action, index, matches, context));
  out.push({ statements: matches.concat(actionStatements(rule, context)), comment: ruleComment(index, rule) });
}

/** Deny and log rules are told to the flow log, where there is one. */
function logged(
  action: "deny" | "log",
  index: number,
  matches: readonly Statement[],
  { config, direction, owner }: RuleContext,
): RuleState[] {
  const source = {
    verdict: action,
    direction,
    tier: owner.kind === "policy" ? owner.tier : "",
    policy: owner.kind === "policy" ? policyWord(owner.id) : `profile ${owner.name}`,
    rule: `rule ${index}`,
  };
  return flowLogRules(matches, source, config);
}

/** All rules of one direction, in order. */
export function renderRules(rules: readonly DataplaneRule[], context: RuleContext): RuleState[] {
  const out: RuleState[] = [];
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index];
    if (rule !== undefined) renderRule(rule, index, context, out);
  }
  return out;
}

function actionStatements(rule: DataplaneRule, { config, layer, owner }: RuleContext): Statement[] {
  switch (rule.action) {
    case "allow":
      return [COUNTER, decide(layer, "accepted")];
    case "pass":
      return [COUNTER, decide(layer, "passed")];
    case "deny":
      return deny(layer, config);
    case "log":
      return [
        ...(config.logRateLimit === undefined
          ? []
          : [{ kind: "limit", ...config.logRateLimit, burst: config.logBurst, over: false } as const]),
        COUNTER,
        { kind: "log", prefix: logPrefix(config.logPrefix, owner), level: "info" },
      ];
    default:
      return unreachable(rule.action);
  }
}
