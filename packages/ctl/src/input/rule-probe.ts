import type { JsonObject, Resource } from "@bulrush/model";

/**
 * A policy of one rule, as another policy has it: what becomes of a rule can be seen by itself. Kubernetes' rules become
 * many, so that their place says nothing.
 */
export function ruleProbe(
  resource: Resource,
  name: string,
  direction: "ingress" | "egress",
  rule: JsonObject,
): Resource {
  const other = direction === "ingress" ? "egress" : "ingress";
  const spec: JsonObject = { ...(resource.spec as JsonObject), [direction]: [rule], [other]: [] };
  delete spec["policyTypes"];
  const { namespace } = resource.metadata;
  return { ...resource, metadata: { name, ...(namespace !== undefined && { namespace }) }, spec };
}
