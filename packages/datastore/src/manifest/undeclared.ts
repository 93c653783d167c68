import { NAMESPACE_PROFILE_PREFIX } from "@bulrush/model";
import type { Problem } from "../problem.ts";
import type { PlacedResource } from "./resource.ts";

/** Warnings for pods in namespaces that no manifest defines: an API server would have refused them. */
export function undeclaredNamespaces(resources: readonly PlacedResource[]): readonly Problem[] {
  const declared = new Set(["default"]);
  for (const { resource } of resources) {
    const { apiVersion, kind, metadata } = resource;
    if (apiVersion === "v1" && kind === "Namespace") declared.add(metadata.name);
    // A profile written by hand stands in for the namespace.
    if (kind === "Profile" && metadata.name.startsWith(NAMESPACE_PROFILE_PREFIX))
      declared.add(metadata.name.slice(NAMESPACE_PROFILE_PREFIX.length));
  }
  const problems: Problem[] = [];
  for (const { resource, source } of resources) {
    const { apiVersion, kind, metadata } = resource;
    const namespace = metadata.namespace ?? "";
    if (source === undefined || apiVersion !== "v1" || kind !== "Pod" || declared.has(namespace)) continue;
    declared.add(namespace);
    problems.push({
      severity: "warning",
      message: `No Namespace "${namespace}" is defined`,
      source,
      kind,
      namespace,
      name: metadata.name,
      field: "metadata.namespace",
      effect: "its pods get only the traffic that a policy allows",
    });
  }
  return problems;
}
