import type { Resource } from "@bulrush/model";

/** What a store or a server counts by itself. */
const COUNTED: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
  "managedFields",
  "ownerReferences",
  "finalizers",
]);

/** The resource as it can be written into another store: what its author said of it. */
export function exportable(resource: Resource): Resource {
  const { status: _status, ...rest } = resource as Resource & { readonly status?: unknown };
  const metadata = Object.fromEntries(Object.entries(resource.metadata).filter(([name]) => !COUNTED.has(name)));
  return { ...rest, metadata: metadata as unknown as Resource["metadata"] };
}
