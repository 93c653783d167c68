import { isStaged, policyIdText } from "../state/id-text.ts";
import type { Outcome } from "./flow.ts";
import { type JudgedLists, judgeList } from "./judge-list.ts";
import type { MatchContext } from "./match-rule.ts";

/**
 * What would decide if that which has decided were not there (nothing is behind the last end), and what would decide if
 * the staged policies were enforced. `replaced`: ids of policies that would then give way, beside those that a staged
 * policy of the lists itself stands for.
 */
export function whatIfs(
  context: MatchContext,
  lists: JudgedLists,
  decision: Outcome,
  replaced: ReadonlySet<string> = new Set(),
): { readonly next?: Outcome; readonly staged?: Outcome } {
  const isLastEnd = decision.tier === "" && decision.policy === "";
  const next = isLastEnd ? undefined : outcomeOf(judgeList(context, lists, { without: decision }));
  const giveWay = givingWay(lists, replaced);
  const staged = giveWay === undefined ? undefined : outcomeOf(judgeList(context, lists, { enforced: giveWay }));
  return { ...(next && { next }), ...(staged && { staged }) };
}

/** Policies that are gone once the staged ones are enforced; undefined where enforcing them changes nothing here. */
function givingWay({ tiers }: JudgedLists, known: ReadonlySet<string>): ReadonlySet<string> | undefined {
  const out = new Set(known);
  let isTouched = false;
  for (const tier of tiers)
    for (const id of [...tier.ingress_policies, ...tier.egress_policies]) {
      if (isStaged(id)) out.add(policyIdText({ ...id, kind: id.kind.slice("Staged".length) }));
      isTouched ||= isStaged(id) || known.has(policyIdText(id));
    }
  return isTouched ? out : undefined;
}

function outcomeOf({ verdict, tier, policy, rule, why }: Outcome): Outcome {
  return { verdict, tier, policy, rule, why };
}
