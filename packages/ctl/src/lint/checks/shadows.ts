import { compareStrings } from "@bulrush/base";
import type { LintContext } from "../context.ts";
import { actionOf, type Direction, DIRECTIONS, isUnconditional, type PolicyView } from "../policy-view.ts";
import type { Population } from "../population.ts";
import type { Warning } from "../warning.ts";

/** Policies of which no rule is ever looked at, because one before it in the tier decides everything. */
export function* shadowWarnings({ policies, population }: LintContext): Iterable<Warning> {
  const enforced = policies.filter(({ isStaged }) => !isStaged);
  for (const tier of Map.groupBy(enforced, ({ v1 }) => v1.tier).values()) {
    const ordered = tier.toSorted(comparePolicies);
    const deciders = new Map(
      DIRECTIONS.map((direction) => [direction, ordered.filter((policy) => decidesAll(policy, direction))]),
    );
    for (const policy of ordered) {
      const directions = policy.directions.filter(({ isTyped, rules }) => isTyped && rules.length > 0);
      const first = directions.map(({ direction }) => {
        const before = (deciders.get(direction) ?? []).filter((one) => comparePolicies(one, policy) < 0);
        return before.find(
          (one) => !areAdded(one, policy) && isSameStage(one, policy) && covers(one, policy, population),
        );
      });
      const by = first[0];
      if (by === undefined || first.includes(undefined)) continue;
      const { kind, metadata } = by.entry.resource;
      const name = `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`;
      const message = `No rule of it is ever looked at: ${name} comes before it in the tier, is for the same endpoints, and matches everything`;
      yield { code: "shadowed-policy", entry: policy.entry, field: policy.isCalico ? "spec.order" : "spec", message };
    }
  }
}

/** As the graph evaluates them: lower order first, none last, then by name, namespace and kind. */
function comparePolicies(a: PolicyView, b: PolicyView): number {
  const orderOf = ({ v1 }: PolicyView): number => v1.order ?? Number.POSITIVE_INFINITY;
  const [x, y] = [orderOf(a), orderOf(b)];
  const text = ({ key }: PolicyView): string => `${key.name}/${key.namespace}/${key.kind}`;
  return x === y ? compareStrings(text(a), text(b)) : x - y;
}

function decidesAll({ v1 }: PolicyView, direction: Direction): boolean {
  const types = v1.types ?? [];
  if (types.length > 0 && !types.includes(direction)) return false;
  const rules = direction === "ingress" ? v1.inbound_rules : v1.outbound_rules;
  return rules.some((rule) => actionOf(rule) !== "log" && isUnconditional(rule));
}

/** Kubernetes' own policies know no order: what each of them allows is added up. */
function areAdded(a: PolicyView, b: PolicyView): boolean {
  return a.key.kind === "KubernetesNetworkPolicy" && b.key.kind === "KubernetesNetworkPolicy";
}

/** Untracked, pre-DNAT and forwarded traffic have lists of their own. */
function isSameStage({ v1: a }: PolicyView, { v1: b }: PolicyView): boolean {
  return (
    (a.untracked ?? false) === (b.untracked ?? false) &&
    (a.pre_dnat ?? false) === (b.pre_dnat ?? false) &&
    (a.apply_on_forward ?? false) === (b.apply_on_forward ?? false)
  );
}

/** True if `by` is for every endpoint that `policy` is for: by its words, or of all that is here. */
function covers(by: PolicyView, policy: PolicyView, population: Population): boolean {
  if (by.v1.selector === policy.v1.selector || isEverything(by.v1.selector)) return true;
  const [theirs, mine] = [population.pick(by.v1.selector), population.pick(policy.v1.selector)];
  if (!population.hasEndpoints || theirs === undefined || mine === undefined || mine.size === 0) return false;
  return [...mine].every((member) => theirs.has(member));
}

function isEverything(selector: string): boolean {
  return selector === "" || selector === "all()";
}
