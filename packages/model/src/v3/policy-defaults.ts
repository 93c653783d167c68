import type { JsonObject } from "./json-object.ts";
import type { TierSpec } from "./policy.ts";

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null;
}

/** Only egress rules: Egress; both: both; else Ingress. Nothing when `types` says it. */
export function calicoPolicyTypes(spec: JsonObject): { types?: readonly string[] } {
  if (isFilled(spec["types"])) return {};
  if (!isFilled(spec["egress"])) return { types: ["Ingress"] };
  return { types: isFilled(spec["ingress"]) ? ["Ingress", "Egress"] : ["Egress"] };
}

/** Ingress, and Egress too if there are egress rules. Nothing when `policyTypes` says it. */
export function kubernetesPolicyTypes(spec: JsonObject): { policyTypes?: readonly string[] } {
  if (isFilled(spec["policyTypes"])) return {};
  return { policyTypes: isFilled(spec["egress"]) ? ["Ingress", "Egress"] : ["Ingress"] };
}

/** The tiers that exist even where no object says so. */
export const BUILT_IN_TIERS: Readonly<Record<string, Required<TierSpec>>> = {
  "kube-admin": { order: 1000, defaultAction: "Pass" },
  default: { order: 1_000_000, defaultAction: "Deny" },
  "kube-baseline": { order: 10_000_000, defaultAction: "Pass" },
};

/** What a Tier of this name has where it does not say. */
export function tierDefaults(name: string): Required<TierSpec> {
  return Object.hasOwn(BUILT_IN_TIERS, name)
    ? (BUILT_IN_TIERS[name] as Required<TierSpec>)
    : { order: 1_000_000, defaultAction: "Deny" };
}
