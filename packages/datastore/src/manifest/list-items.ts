import { isObject } from "@bulrush/model";

/**
 * The entries of a `List` or `PodList`; those of a typed list need not name their kind. Undefined for what is no list,
 * and for one without `items`: a misspelt field must not look like a list of nothing.
 */
export function itemsOf(value: unknown): readonly unknown[] | undefined {
  if (!isObject(value) || typeof value["kind"] !== "string" || !value["kind"].endsWith("List")) return undefined;
  const { kind, apiVersion, items } = value;
  if (items === null) return [];
  if (!Array.isArray(items)) return undefined;
  if (kind === "List") return items;
  const own = kind.slice(0, -"List".length);
  return items.map((item: unknown) => (isObject(item) ? { apiVersion, kind: own, ...item } : item));
}
