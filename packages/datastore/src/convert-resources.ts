import { compareStrings } from "@bulrush/base";
import { formatKey, type Resource, type Update } from "@bulrush/model";
import type { ItemIssue } from "./driver/item-issue.ts";
import type { DatastoreKind } from "./driver/kind.ts";
import { storeItems } from "./manifest/items.ts";
import type { ManifestResource, PlacedResource } from "./manifest/resource.ts";
import { type ConvertedItem, toItem } from "./manifest/to-item.ts";
import type { Problem, SourcePosition } from "./problem.ts";
import { processSafely, type UpdateProcessor } from "./process/processor.ts";
import { processorOf } from "./process/table.ts";

/** As in the file driver's configuration. */
export interface ConvertOptions {
  /** Make IPAM blocks from Node pod CIDRs. Default false. */
  readonly usePodCIDR?: boolean;
  /** FELIX_INTERFACEPREFIX. Default "cali". */
  readonly interfacePrefix?: string;
}

/** What a datastore with these resources comes to. */
export interface Converted {
  /** What the felix syncer sends for these resources, sorted by path; every `type` is "new". */
  readonly updates: readonly Update[];
  /** What was unreadable, and what stands in its place. */
  readonly problems: readonly Problem[];
}

/**
 * Resources (Calico and Kubernetes, defaults applied) to the KVs that the felix syncer makes of them, in one go. Adds
 * what every datastore has: the three tiers, the allow profile, and ClusterInformation where there is none. Of two
 * resources with one key the first counts, and the other is a problem.
 */
export function convertResources(
  resources: Iterable<Resource | ManifestResource>,
  options: ConvertOptions = {},
): Converted {
  const { usePodCIDR = false, interfacePrefix } = options;
  const conversion = { usePodCIDR, ...(interfacePrefix !== undefined && { interfacePrefix }) };
  const found = storeItems([...resources].map(placed), (resource) => toItem(resource, conversion));
  const processors = new Map<DatastoreKind, UpdateProcessor>();
  const updates = new Map<string, Update>();
  const problems: Problem[] = [...found.problems];
  for (const { item, source } of found.items) {
    let processor = processors.get(item.kind);
    if (processor === undefined) {
      processor = processorOf(item.kind, { usePodCIDR, nodeName: "" });
      processors.set(item.kind, processor);
    }
    const result = processSafely(processor, { item, value: item.value, revision: "1", issues: item.issues });
    for (const { key, value } of result.outputs) {
      const path = formatKey(key);
      if (value === undefined) updates.delete(path);
      else updates.set(path, { key, path, value, revision: "1", type: "new" });
    }
    for (const issue of result.issues) problems.push(problemOf(item, issue, source));
  }
  return { updates: [...updates.values()].sort((a, b) => compareStrings(a.path, b.path)), problems };
}

function placed(entry: Resource | ManifestResource): PlacedResource {
  return "resource" in entry ? entry : { resource: entry };
}

function problemOf(item: ConvertedItem, issue: ItemIssue, source: SourcePosition | undefined): Problem {
  return {
    severity: issue.severity,
    message: issue.message,
    kind: item.subject.kind,
    ...(item.subject.namespace !== "" && { namespace: item.subject.namespace }),
    name: item.subject.name,
    ...(issue.field !== "" && { field: issue.field }),
    ...(source !== undefined && { source }),
  };
}
