import type { Resource } from "@bulrush/model";
import { type Choices, definedFields } from "./choices.ts";
import { type RulePlace, randomRule } from "./random-rule.ts";
import { randomAccountSelector, randomNamespaceSelector, randomSelector } from "./random-selector.ts";
import { NAMESPACES } from "./vocabulary.ts";

/** Tiers that may have a resource; the last one never has. */
export const TIERS = ["first", "second", "third", "stray"] as const;
const ORDERS = [undefined, 1, 2, 10, 10, 999.5, 1000, 1001] as const;
/** Orders of tiers; the guard's tier comes before all of them. */
const TIER_ORDERS = [undefined, 1, 5, 5, 500, 1_000_000, 2_000_000] as const;

export const CALICO_POLICY_KINDS = [
  "NetworkPolicy",
  "GlobalNetworkPolicy",
  "StagedNetworkPolicy",
  "StagedGlobalNetworkPolicy",
] as const;
export type CalicoPolicyKind = (typeof CALICO_POLICY_KINDS)[number];

function randomRules(choices: Choices, place: RulePlace): unknown[] | undefined {
  return choices.maybe(0.75, () =>
    Array.from({ length: choices.between(0, choices.chance(0.1) ? 12 : 4) }, () => randomRule(choices, place)),
  );
}

/** A policy of Calico's own kinds. */
export function randomCalicoPolicy(choices: Choices, kind: CalicoPolicyKind, name: string): Resource {
  const namespaced = !kind.includes("Global");
  const preDnat = !namespaced && choices.chance(0.04);
  const doNotTrack = !namespaced && !preDnat && choices.chance(0.04);
  const spec = definedFields({
    tier: choices.maybe(0.6, () => choices.pick(TIERS)),
    order: choices.pick(ORDERS),
    selector: choices.maybe(0.7, () => randomSelector(choices)),
    serviceAccountSelector: choices.maybe(0.1, () => randomAccountSelector(choices)),
    namespaceSelector: namespaced ? undefined : choices.maybe(0.2, () => randomNamespaceSelector(choices)),
    types: preDnat
      ? ["Ingress"]
      : choices.maybe(0.6, () => choices.pick([["Ingress"], ["Egress"], ["Ingress", "Egress"]])),
    ingress: randomRules(choices, { direction: "ingress", namespaced }),
    egress: preDnat ? undefined : randomRules(choices, { direction: "egress", namespaced }),
    performanceHints: choices.maybe(0.05, () => ["AssumeNeededOnEveryNode"]),
    applyOnForward: preDnat || doNotTrack || (namespaced ? undefined : choices.maybe(0.1, () => true)),
    preDNAT: preDnat || undefined,
    doNotTrack: doNotTrack || undefined,
    stagedAction: kind.startsWith("Staged") ? choices.maybe(0.3, () => "Set") : undefined,
  });
  return {
    apiVersion: "projectcalico.org/v3",
    kind,
    metadata: { name, ...(namespaced && { namespace: choices.pick(NAMESPACES) }) },
    spec: namespaced ? { ...spec, applyOnForward: undefined } : spec,
  };
}

export function randomTier(choices: Choices, name: string): Resource {
  return {
    apiVersion: "projectcalico.org/v3",
    kind: "Tier",
    metadata: { name },
    spec: definedFields({
      order: choices.pick(TIER_ORDERS),
      defaultAction: choices.maybe(0.7, () => choices.pick(["Pass", "Pass", "Deny"])),
    }),
  };
}
