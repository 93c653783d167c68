import type { ResourceKind } from "../v1/key.ts";
import { CALICO_V3, kindFacts } from "../v3/kind.ts";
import { isObject } from "../v3/json-object.ts";
import { isAbsent } from "./field.ts";
import { expectedBut, type IssueList } from "./issue.ts";
import { MAX_RESOURCE_NESTING, plainDataIssue } from "./plain-data.ts";
import { rulesOf } from "./resource-rules.ts";

/** Kubernetes' own kinds that travel under a name of ours. */
const KUBERNETES: Readonly<Partial<Record<ResourceKind, readonly [apiVersion: string, kind: string]>>> = {
  KubernetesService: ["v1", "Service"],
  KubernetesEndpointSlice: ["discovery.k8s.io/v1", "EndpointSlice"],
};

/**
 * A resource that travels in its own shape, under a key that says its kind. It must have a name, and the content that
 * the rules of its kind ask for. Labels, annotations and the spelling of the name are not checked: a node or a
 * service that somebody else let in must not vanish because of them.
 */
export function checkKeyedResource(issues: IssueList, kind: ResourceKind, value: unknown): void {
  if (!isObject(value)) {
    issues.add("", expectedBut("a resource", value));
    return;
  }
  const odd = plainDataIssue(value, MAX_RESOURCE_NESTING);
  if (odd !== undefined) {
    issues.add(odd.path.join("."), odd.message);
    return;
  }
  const { metadata, spec, status } = value;
  if (!isObject(metadata) || typeof metadata["name"] !== "string") {
    issues.add("metadata.name", expectedBut("a name", isObject(metadata) ? metadata["name"] : undefined));
    return;
  }
  for (const [name, part] of [
    ["spec", spec],
    ["status", status],
  ] as const)
    if (!isAbsent(part) && !isObject(part)) issues.add(name, expectedBut("an object", part));
  const facts = kindFacts(...(KUBERNETES[kind] ?? [CALICO_V3, kind]));
  if (facts === undefined) return;
  rulesOf(facts).check?.(issues, {
    resource: value,
    metadata,
    spec: isObject(spec) ? spec : {},
    status: isObject(status) ? status : {},
  });
}
