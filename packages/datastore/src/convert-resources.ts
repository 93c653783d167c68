import { compareStrings } from "@bulrush/base";
import { formatKey, type Resource, type Update } from "@bulrush/model";
import type { ItemIssue } from "./driver/item-issue.ts";
import type { DatastoreKind } from "./driver/kind.ts";
import { builtInResources } from "./manifest/built-in.ts";
import type { ManifestResource } from "./manifest/load.ts";
import { type ConvertedItem, toItem } from "./manifest/to-item.ts";
import { undeclaredNamespaces } from "./manifest/undeclared.ts";
import type { Problem, SourcePosition } from "./problem.ts";
import { processSafely, type UpdateProcessor } from "./process/processor.ts";
import { processorOf } from "./process/table.ts";

export interface ConvertOptions {
  /** Make IPAM blocks from Node pod CIDRs. Default false. */
  readonly usePodCIDR?: boolean;
  /** FELIX_INTERFACEPREFIX. Default "cali". */
  readonly interfacePrefix?: string;
}

export interface Converted {
  /** What the felix syncer sends for these resources, sorted by path; every `type` is "new". */
  readonly updates: readonly Update[];
  /** What was unreadable, and what stands in its place. */
  readonly problems: readonly Problem[];
}

/**
 * Resources (Calico and Kubernetes, defaults applied) to the KVs that the felix syncer makes of them, in one go. Adds
 * what every datastore has: the three tiers, the allow profile, and ClusterInformation where there is none. Of two
 * resources of one identity the first counts.
 */
export function convertResources(
  resources: Iterable<Resource | ManifestResource>,
  options: ConvertOptions = {},
): Converted {
  const { usePodCIDR = false, interfacePrefix } = options;
  const entries = [...resources].map(entryOf);
  for (const resource of builtInResources(entries.map((entry) => entry.resource))) entries.push({ resource });
  const processors = new Map<DatastoreKind, UpdateProcessor>();
  const seen = new Set<string>();
  const updates = new Map<string, Update>();
  const placed = entries.filter((entry) => entry.source !== undefined);
  const problems: Problem[] = [...undeclaredNamespaces(placed as ManifestResource[])];
  for (const { resource, source } of entries) {
    const item = toItem(resource, { usePodCIDR, ...(interfacePrefix !== undefined && { interfacePrefix }) });
    if (item === undefined) continue;
    const identity = `${item.kind} ${item.namespace}/${item.name}`;
    if (seen.has(identity)) {
      problems.push(problemOf(item, { severity: "error", field: "", message: "Defined twice; ignored" }, source));
      continue;
    }
    seen.add(identity);
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

function entryOf(entry: Resource | ManifestResource): { resource: Resource; source?: SourcePosition } {
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
