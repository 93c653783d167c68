import type { DataplaneState } from "@bulrush/calc";
import type { DataplaneRule, TierInfo } from "@bulrush/proto";

/** Two states to compare. */
export interface StatePair {
  readonly before: DataplaneState;
  readonly after: DataplaneState;
}

interface RuleLists {
  readonly inbound_rules: readonly DataplaneRule[];
  readonly outbound_rules: readonly DataplaneRule[];
}

const DIRECTIONS = ["egress", "ingress"] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** What judges otherwise than before. */
export interface Touched {
  /** The directions in which an endpoint with these lists may judge otherwise. */
  of(before: JudgingLists, after: JudgingLists): readonly Direction[];
}

/** The lists of one endpoint. */
export interface JudgingLists {
  readonly tiers: readonly TierInfo[];
  readonly profiles: readonly string[];
  /** Anything else that matters. */
  readonly rest: string;
}

export function findTouched({ before, after }: StatePair): Touched {
  const sets = new Set<string>();
  for (const id of new Set([...before.ipSets.keys(), ...after.ipSets.keys()])) {
    const [a, b] = [before.ipSets.get(id)?.members, after.ipSets.get(id)?.members];
    if (a === undefined || b === undefined || a.size !== b.size || [...a].some((member) => !b.has(member)))
      sets.add(id);
  }
  // Policies and profiles with other rules, or with IP sets of other members, as "direction name".
  const lists = new Set<string>();
  const compare = (name: string, a: RuleLists | undefined, b: RuleLists | undefined): void => {
    for (const direction of DIRECTIONS) {
      const field = direction === "ingress" ? "inbound_rules" : "outbound_rules";
      const [was, is] = [a?.[field] ?? [], b?.[field] ?? []];
      if (
        JSON.stringify(was, plain) !== JSON.stringify(is, plain) ||
        was.some((rule) => setIdsOf(rule).some((id) => sets.has(id)))
      )
        lists.add(`${direction} ${name}`);
    }
  };
  for (const id of new Set([...before.policies.keys(), ...after.policies.keys()]))
    compare(id, before.policies.get(id)?.policy, after.policies.get(id)?.policy);
  for (const name of new Set([...before.profiles.keys(), ...after.profiles.keys()]))
    compare(`profile/${name}`, before.profiles.get(name), after.profiles.get(name));
  return {
    of: (a, b) =>
      DIRECTIONS.filter(
        (direction) =>
          a.rest !== b.rest ||
          orderOf(a, direction) !== orderOf(b, direction) ||
          listNames(a).some((name) => lists.has(`${direction} ${name}`)),
      ),
  };
}

/** What is asked in a direction, in order. */
function orderOf({ tiers, profiles }: JudgingLists, direction: Direction): string {
  const asked = tiers.map((tier) => [tier.name, tier.default_action, tier[`${direction}_policies`]]);
  return JSON.stringify([asked.filter(([, , policies]) => policies?.length !== 0), profiles]);
}

/** All policies and profiles that judge for an endpoint. */
export function listNames({ tiers, profiles }: JudgingLists): string[] {
  const ids = tiers.flatMap(({ ingress_policies, egress_policies }) => [...ingress_policies, ...egress_policies]);
  return [
    ...ids.map(({ kind, namespace, name }) => (namespace === "" ? `${kind}/${name}` : `${kind}/${namespace}/${name}`)),
    ...profiles.map((name) => `profile/${name}`),
  ];
}

/** The rules of a policy or profile by such a name. */
export function rulesNamed(state: DataplaneState, name: string): readonly DataplaneRule[] {
  const lists = name.startsWith("profile/")
    ? state.profiles.get(name.slice("profile/".length))
    : state.policies.get(name)?.policy;
  return lists === undefined ? [] : rulesOf(lists);
}

function rulesOf({ inbound_rules, outbound_rules }: RuleLists): readonly DataplaneRule[] {
  return [...inbound_rules, ...outbound_rules];
}

/** Every IP set that a rule asks. */
export function setIdsOf(rule: DataplaneRule): readonly string[] {
  return Object.entries(rule).flatMap(([field, value]) => (field.endsWith("_ids") ? (value as readonly string[]) : []));
}

function plain(_name: string, value: unknown): unknown {
  return value instanceof Map ? [...(value as Map<unknown, unknown>)] : value;
}
