import { compareStrings } from "@bulrush/base";
import { compareOrders, compareTiers, type DataplaneState, isStaged, policyIdText } from "@bulrush/calc";
import type { Policy, PolicyKey, Rule, Tier, Update } from "@bulrush/model";
import type { TierInfo } from "@bulrush/proto";
import { ruleText } from "./rule-text.ts";

/** A tier with its policies, in the order in which they are looked at. Plain data: it goes between threads. */
export interface ListedTier {
  readonly name: string;
  /** null: last. */
  readonly order: number | null;
  /** What becomes of what no policy of it decides. */
  readonly defaultAction: "Deny" | "Pass";
  readonly policies: readonly ListedPolicy[];
}

export interface ListedPolicy {
  /** `kind/namespace/name`, as verdicts name it. */
  readonly id: string;
  readonly order: number | null;
  readonly selector: string;
  /** How many endpoints it applies to. */
  readonly endpoints: number;
  /** Some of them. */
  readonly examples: readonly string[];
  readonly staged: boolean;
  /** doNotTrack and the like. */
  readonly traits: readonly string[];
  /** null: the policy says nothing of this direction. */
  readonly ingress: readonly string[] | null;
  readonly egress: readonly string[] | null;
}

const MAX_EXAMPLES = 20;

/**
 * All policies as they are evaluated: tiers with a resource first, then with an order, then the lower order, then by
 * name; policies by their order, then by name, namespace and kind.
 */
export function listPolicies(updates: Iterable<Update>, state: DataplaneState): readonly ListedTier[] {
  const tiers = new Map<string, Tier>();
  const policies: { readonly key: PolicyKey; readonly value: Policy }[] = [];
  for (const { key, value } of updates) {
    if (value === undefined) continue;
    if (key.type === "Tier") tiers.set(key.name, value as Tier);
    else if (key.type === "Policy") policies.push({ key, value: value as Policy });
  }
  const users = usersOf(state);
  const byTier = Map.groupBy(policies, ({ value }) => (value.tier === "" ? "default" : value.tier));
  for (const name of tiers.keys()) if (!byTier.has(name)) byTier.set(name, []);
  return [...byTier]
    .sort(([a], [b]) => compareTiers(a, b, tiers))
    .map(([name, members]) => ({
      name,
      order: tiers.get(name)?.order ?? null,
      defaultAction: tiers.get(name)?.defaultAction === "Pass" ? "Pass" : "Deny",
      policies: members
        .sort((a, b) => compareOrders(a.value.order, b.value.order) || compareStrings(sortText(a.key), sortText(b.key)))
        .map(({ key, value }) => listed(key, value, users.get(policyIdText(key)) ?? [])),
    }));
}

function listed(key: PolicyKey, value: Policy, users: readonly string[]): ListedPolicy {
  const types = (value.types ?? []).map((type) => type.toLowerCase());
  const rules = (direction: string, list: readonly Rule[]): readonly string[] | null =>
    types.length === 0 || types.includes(direction) ? list.map(ruleText) : null;
  return {
    id: policyIdText(key),
    order: value.order ?? null,
    selector: value.selector === "" ? "all()" : value.selector,
    endpoints: users.length,
    examples: users.slice(0, MAX_EXAMPLES),
    staged: isStaged(key),
    traits: [
      ...(value.untracked === true ? ["doNotTrack"] : []),
      ...(value.pre_dnat === true ? ["preDNAT"] : []),
      ...(value.apply_on_forward === true ? ["applyOnForward"] : []),
    ],
    ingress: rules("ingress", value.inbound_rules),
    egress: rules("egress", value.outbound_rules),
  };
}

/** The endpoints of each policy: pods by their names, host endpoints by theirs. */
function usersOf(state: DataplaneState): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  const note = (name: string, lists: readonly (readonly TierInfo[])[]): void => {
    const ids = lists.flat().flatMap((tier) => [...tier.ingress_policies, ...tier.egress_policies].map(policyIdText));
    for (const id of new Set(ids)) {
      const list = users.get(id);
      if (list === undefined) users.set(id, [name]);
      else list.push(name);
    }
  };
  for (const { id, endpoint } of state.workloadEndpoints.values()) note(id.workload, [endpoint.tiers]);
  for (const [id, { tiers, untracked_tiers, pre_dnat_tiers, forward_tiers }] of state.hostEndpoints)
    note(id, [tiers, untracked_tiers, pre_dnat_tiers, forward_tiers]);
  return users;
}

function sortText({ name, namespace, kind }: PolicyKey): string {
  return `${name}/${namespace}/${kind}`;
}
