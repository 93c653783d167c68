import { isObject, type Resource } from "@bulrush/model";

/** Where a store keeps metadata as the user wrote it: JSON. */
export const METADATA_ANNOTATION = "projectcalico.org/metadata";

const POLICY_KINDS: ReadonlySet<string> = new Set([
  "NetworkPolicy",
  "GlobalNetworkPolicy",
  "StagedNetworkPolicy",
  "StagedGlobalNetworkPolicy",
]);

/** True for the kinds whose name in the store may not be the one that their user gave them. */
export function hasNameOfUser(kind: string): boolean {
  return POLICY_KINDS.has(kind);
}

/**
 * The name that the user gave it: `kept`, which the store has beside the resource, if there is one; else a policy of the
 * default tier may have gained a prefix.
 */
export function nameOfUser({ kind, metadata, spec }: Resource, kept: unknown): string {
  if (!hasNameOfUser(kind)) return metadata.name;
  if (typeof kept === "string" && kept !== "") return kept;
  const tier = isObject(spec) ? (spec["tier"] ?? "") : "";
  const isDefault = tier === "" || tier === "default";
  return isDefault && metadata.name.startsWith("default.") ? metadata.name.slice("default.".length) : metadata.name;
}
