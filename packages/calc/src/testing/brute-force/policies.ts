import type { HostEndpoint, Policy, PolicyKey, WorkloadEndpoint } from "@bulrush/model";
import type { PolicyID, TierInfo } from "@bulrush/proto";
import { entriesOf, isLocal, type View } from "./contents.ts";
import { labelsOf } from "./items.ts";
import { naiveMatch } from "./naive-selector.ts";

export interface PolicyEntry {
  readonly key: PolicyKey;
  readonly policy: Policy;
}

/** Every policy that there is: a staged deletion counts as none. */
function policiesOf(view: View): PolicyEntry[] {
  return entriesOf(view.contents, "Policy")
    .map(([key, policy]) => ({ key, policy }))
    .filter(({ key, policy }) => !(key.kind.startsWith("Staged") && policy.staged_action === "Delete"));
}

/** The policies whose selector finds an endpoint. */
export function policiesFor(view: View, endpoint: WorkloadEndpoint | HostEndpoint): PolicyEntry[] {
  const labels = labelsOf(view.contents, endpoint.labels, endpoint.profile_ids);
  return policiesOf(view).filter(({ policy }) => naiveMatch(policy.selector, labels));
}

/** The endpoints of the view's host. */
function localEndpoints(view: View): (WorkloadEndpoint | HostEndpoint)[] {
  return [...entriesOf(view.contents, "WorkloadEndpoint"), ...entriesOf(view.contents, "HostEndpoint")]
    .filter(([key]) => isLocal(view, key.hostname))
    .map(([, value]) => value);
}

/** The policies that the dataplane needs: those that find a local endpoint, and those that say so. */
export function activePolicies(view: View): PolicyEntry[] {
  const used = new Set(
    localEndpoints(view).flatMap((endpoint) => policiesFor(view, endpoint).map(({ policy }) => policy)),
  );
  return policiesOf(view).filter(
    ({ policy }) => used.has(policy) || (policy.performance_hints ?? []).includes("AssumeNeededOnEveryNode"),
  );
}

/** The profiles that local endpoints have, known or not. */
export function activeProfiles(view: View): Set<string> {
  return new Set(localEndpoints(view).flatMap((endpoint) => endpoint.profile_ids));
}

export function hasType({ types = [] }: Policy, type: "ingress" | "egress"): boolean {
  return types.length === 0 || types.some((one) => one.toLowerCase() === type);
}

export function tierOf(policy: Policy): string {
  return policy.tier === "" ? "default" : policy.tier;
}

/** The tiers of some policies with their policies, both in order of evaluation. */
export function orderedTiers(
  view: View,
  policies: readonly PolicyEntry[],
): { readonly name: string; readonly action: "Deny" | "Pass" | ""; readonly policies: readonly PolicyEntry[] }[] {
  const resources = new Map(entriesOf(view.contents, "Tier").map(([key, tier]) => [key.name, tier]));
  return [...new Set(policies.map(({ policy }) => tierOf(policy)))]
    .map((name) => ({ name, tier: resources.get(name) }))
    .sort(
      (a, b) =>
        Number(b.tier !== undefined) - Number(a.tier !== undefined) ||
        compareOrders(a.tier?.order, b.tier?.order) ||
        compare(a.name, b.name),
    )
    .map(({ name, tier }) => ({
      name,
      action: tier?.defaultAction ?? "",
      policies: policies.filter(({ policy }) => tierOf(policy) === name).sort(comparePolicies),
    }));
}

/** A tier's policies as an endpoint lists them. */
export function tierInfos(
  view: View,
  policies: readonly PolicyEntry[],
  action?: "Pass",
  directions: readonly ("ingress" | "egress")[] = ["ingress", "egress"],
): TierInfo[] {
  const listed = (entries: readonly PolicyEntry[], type: "ingress" | "egress"): PolicyID[] =>
    directions.includes(type) ? entries.filter(({ policy }) => hasType(policy, type)).map(({ key }) => idOf(key)) : [];
  return orderedTiers(view, policies)
    .map((tier) => ({
      name: tier.name,
      ingress_policies: listed(tier.policies, "ingress"),
      egress_policies: listed(tier.policies, "egress"),
      default_action: action ?? tier.action,
    }))
    .filter((tier) => tier.ingress_policies.length + tier.egress_policies.length > 0);
}

function idOf({ name, namespace, kind }: PolicyKey): PolicyID {
  return { name, namespace, kind };
}

function comparePolicies(a: PolicyEntry, b: PolicyEntry): number {
  const text = ({ key }: PolicyEntry): string => `${key.name}/${key.namespace}/${key.kind}`;
  return compareOrders(a.policy.order, b.policy.order) || compare(text(a), text(b));
}

/** Lower first; none last. */
function compareOrders(a: number | undefined, b: number | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return a - b;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
