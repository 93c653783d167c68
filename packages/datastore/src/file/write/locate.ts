import { isObject, kindFacts, type Resource } from "@bulrush/model";
import type { ResourceId } from "../../driver/writer.ts";
import { readCrd } from "../../kubernetes/crd-codec.ts";
import { itemsOf } from "../../manifest/list-items.ts";
import { withoutNulls } from "../../manifest/parse.ts";

/** Where an object stands in a document: [] for the whole of it, else through the `items` of lists. */
export type ItemPath = readonly (string | number)[];

/** The place of the resource in the value of a document, or undefined. The first one, if there are several. */
export function locate(value: unknown, id: ResourceId, path: ItemPath = []): ItemPath | undefined {
  const items = itemsOf(value);
  if (items === undefined) return isIt(value, id) ? path : undefined;
  for (const [i, item] of items.entries()) {
    const found = locate(item, id, [...path, "items", i]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whatever else is wrong with it: what cannot be read can still be replaced and removed. */
function isIt(value: unknown, id: ResourceId): boolean {
  if (!isObject(value) || typeof value["apiVersion"] !== "string" || typeof value["kind"] !== "string") return false;
  const facts = kindFacts(value["apiVersion"], value["kind"]);
  if (facts?.apiVersion !== id.apiVersion || facts.kind !== id.kind || !isObject(value["metadata"])) return false;
  const { name, namespace } = withoutNulls(value).metadata as { name?: unknown; namespace?: unknown };
  const own = facts.namespaced ? (namespace ?? "") || "default" : "";
  return own === id.namespace && (name === id.name || readNameOf(value) === id.name);
}

/** The name as readers know it, which for a CRD's form may stand in an annotation. */
function readNameOf(value: Record<string, unknown>): string | undefined {
  try {
    return readCrd(withoutNulls(value) as unknown as Resource).metadata.name;
  } catch {
    return undefined;
  }
}
