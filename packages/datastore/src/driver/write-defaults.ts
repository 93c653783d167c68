import { applyDefaults, isCalicoVersion, isObject, type Resource } from "@bulrush/model";
import { withDeletedAsFlag } from "./deleted-field.ts";

/** Tells the tier of a policy to whoever lists by label. */
const TIER_LABEL = "projectcalico.org/tier";

const TIERED: ReadonlySet<string> = new Set([
  "NetworkPolicy",
  "GlobalNetworkPolicy",
  "StagedNetworkPolicy",
  "StagedGlobalNetworkPolicy",
]);

/** The resource as Calico's own client stores it: with the defaults, and a policy with the label of its tier. Pure. */
export function withWriteDefaults(resource: Resource): Resource {
  const filled = withDeletedAsFlag(applyDefaults(resource));
  const { spec } = filled;
  if (!isCalicoVersion(filled.apiVersion) || !TIERED.has(filled.kind) || !isObject(spec)) return filled;
  const tier = spec["tier"];
  if (typeof tier !== "string") return filled;
  const labels = { ...filled.metadata.labels, [TIER_LABEL]: tier };
  return { ...filled, metadata: { ...filled.metadata, labels } };
}
