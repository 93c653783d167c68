import type { Resource } from "@bulrush/model";
import type { Problem, SourcePosition } from "../problem.ts";
import { builtInResources } from "./built-in.ts";
import type { PlacedResource } from "./resource.ts";
import type { ConvertedItem } from "./to-item.ts";
import { undeclaredNamespaces } from "./undeclared.ts";

export interface PlacedItem {
  readonly item: ConvertedItem;
  readonly source: SourcePosition | undefined;
}

export interface StoreItems {
  /** No two of one kind, namespace and name. */
  readonly items: readonly PlacedItem[];
  readonly problems: readonly Problem[];
}

/**
 * What a store with these resources lists: their items, and those that every store has. Of two items with one key (a
 * Node of Calico and one of Kubernetes, a Namespace and its profile written by hand) the first counts and the other is
 * reported.
 */
export function storeItems(
  resources: readonly PlacedResource[],
  convert: (resource: Resource) => ConvertedItem | undefined,
): StoreItems {
  const byKey = new Map<string, PlacedItem>();
  const problems: Problem[] = [...undeclaredNamespaces(resources)];
  for (const { resource, source } of resources) {
    const item = convert(resource);
    if (item === undefined) continue;
    const key = keyOf(item);
    const first = byKey.get(key);
    if (first === undefined) byKey.set(key, { item, source });
    else problems.push(alreadyDefined({ item, source }, first));
  }
  for (const resource of builtInResources(resources.map((entry) => entry.resource))) {
    const item = convert(resource);
    if (item !== undefined && !byKey.has(keyOf(item))) byKey.set(keyOf(item), { item, source: undefined });
  }
  return { items: [...byKey.values()], problems };
}

function keyOf({ kind, namespace, name }: ConvertedItem): string {
  return `${kind} ${namespace}/${name}`;
}

function alreadyDefined({ item, source }: PlacedItem, first: PlacedItem): Problem {
  const { kind, namespace, name } = item.subject;
  const where = first.source === undefined ? "" : ` in ${first.source.file}:${first.source.line}`;
  return {
    severity: "error",
    message: `Already defined by ${first.item.subject.kind} ${first.item.subject.name}${where}`,
    kind,
    ...(namespace !== "" && { namespace }),
    name,
    ...(source !== undefined && { source }),
    effect: "ignored",
  };
}
