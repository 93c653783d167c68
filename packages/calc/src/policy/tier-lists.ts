import { compareStrings } from "@bulrush/base";
import type { Tier } from "@bulrush/model";
import type { PolicyID, TierInfo } from "@bulrush/proto";
import type { PolicyState } from "./policy-state.ts";

/** One tier with the policies of an endpoint in it, both in order of evaluation. */
interface OrderedTier {
  readonly name: string;
  /** "" where no Tier resource says it. */
  readonly defaultAction: TierInfo["default_action"];
  readonly policies: readonly PolicyState[];
}

/** The four lists of a host endpoint. A policy stands in exactly one of the first three. */
export interface HostTiers {
  readonly untracked: readonly TierInfo[];
  readonly preDnat: readonly TierInfo[];
  readonly normal: readonly TierInfo[];
  /** Those of `normal` that are for forwarded traffic too. */
  readonly forward: readonly TierInfo[];
}

/**
 * The policies of an endpoint in the forms in which endpoints list them, made when first asked for. Endpoints with the
 * same policies share one object.
 */
export class TierLists {
  readonly #tiers: readonly OrderedTier[];
  #workload: readonly TierInfo[] | undefined;
  #host: HostTiers | undefined;

  constructor(policies: PolicyState[], tiers: ReadonlyMap<string, Tier>) {
    this.#tiers = orderTiers(policies, tiers);
  }

  /** Untracked and pre-DNAT policies are for host endpoints only. */
  get workload(): readonly TierInfo[] {
    return (this.#workload ??= select(this.#tiers, isNormal, undefined));
  }

  get host(): HostTiers {
    return (this.#host ??= {
      untracked: select(this.#tiers, (policy) => policy.value?.untracked ?? false, "Pass"),
      preDnat: select(this.#tiers, isPreDnat, "Pass", false),
      normal: select(this.#tiers, isNormal, undefined),
      forward: select(
        this.#tiers,
        (policy) => isNormal(policy) && (policy.value?.apply_on_forward ?? false),
        undefined,
      ),
    });
  }
}

/** Tiers with a resource first, then with an order, then the lower order, then by name. */
export function compareTiers(a: string, b: string, tiers: ReadonlyMap<string, Tier>): number {
  const [x, y] = [tiers.get(a), tiers.get(b)];
  if ((x === undefined) !== (y === undefined)) return x === undefined ? 1 : -1;
  return compareOrders(x?.order, y?.order) || compareStrings(a, b);
}

/** Lower first; none is last. */
export function compareOrders(a: number | undefined, b: number | undefined): number {
  const [x, y] = [a ?? Number.POSITIVE_INFINITY, b ?? Number.POSITIVE_INFINITY];
  return x === y ? 0 : x < y ? -1 : 1;
}

function comparePolicies(a: PolicyState, b: PolicyState): number {
  return compareOrders(a.value?.order, b.value?.order) || compareStrings(a.sortText, b.sortText);
}

/** Sorts in place. */
function orderTiers(policies: PolicyState[], tiers: ReadonlyMap<string, Tier>): OrderedTier[] {
  const byTier = new Map<string, PolicyState[]>();
  for (const policy of policies) {
    const list = byTier.get(policy.tier);
    if (list === undefined) byTier.set(policy.tier, [policy]);
    else list.push(policy);
  }
  const names = [...byTier.keys()].sort((a, b) => compareTiers(a, b, tiers));
  return names.map((name) => ({
    name,
    defaultAction: tiers.get(name)?.defaultAction ?? "",
    // A copy has exactly the length it needs: lists are kept as long as their endpoints.
    policies: (byTier.get(name) ?? []).sort(comparePolicies).slice(),
  }));
}

function isPreDnat(policy: PolicyState): boolean {
  return (policy.value?.pre_dnat ?? false) && !(policy.value?.untracked ?? false);
}

function isNormal(policy: PolicyState): boolean {
  return !(policy.value?.pre_dnat ?? false) && !(policy.value?.untracked ?? false);
}

/** The tiers that have one of these policies in either direction. */
function select(
  tiers: readonly OrderedTier[],
  wanted: (policy: PolicyState) => boolean,
  defaultAction: "Pass" | undefined,
  withEgress = true,
): readonly TierInfo[] {
  const out: TierInfo[] = [];
  for (const tier of tiers) {
    const ingress: PolicyID[] = [];
    const egress: PolicyID[] = [];
    for (const policy of tier.policies) {
      if (!wanted(policy)) continue;
      if (policy.appliesTo("ingress")) ingress.push(policy.id);
      if (withEgress && policy.appliesTo("egress")) egress.push(policy.id);
    }
    if (ingress.length + egress.length === 0) continue;
    out.push({
      name: tier.name,
      ingress_policies: ingress.slice(),
      egress_policies: egress.slice(),
      default_action: defaultAction ?? tier.defaultAction,
    });
  }
  return out;
}

/** Equal in content; quick where the lists are shared. */
export function sameTiers(a: readonly TierInfo[], b: readonly TierInfo[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (const [i, x] of a.entries()) {
    const y = b[i];
    if (y === undefined || x.name !== y.name || x.default_action !== y.default_action) return false;
    if (!sameIds(x.ingress_policies, y.ingress_policies) || !sameIds(x.egress_policies, y.egress_policies))
      return false;
  }
  return true;
}

function sameIds(a: readonly PolicyID[], b: readonly PolicyID[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i], b[i]];
    if (x === y) continue;
    if (x?.name !== y?.name || x?.namespace !== y?.namespace || x?.kind !== y?.kind) return false;
  }
  return true;
}
