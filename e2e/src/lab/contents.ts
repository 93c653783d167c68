import { isObject } from "@bulrush/model";

/** What a store says of an object beside what it was given. */
const OF_THE_STORE: ReadonlySet<string> = new Set([
  "uid",
  "creationTimestamp",
  "resourceVersion",
  "generation",
  "managedFields",
]);

/** A value without what only a store can know: in metadata, who wrote it when. Two stores with one content agree on it. */
export function contentsOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(contentsOf);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      key === "metadata" ? withoutStoreFields(entry) : contentsOf(entry),
    ]),
  );
}

function withoutStoreFields(metadata: unknown): unknown {
  if (!isObject(metadata)) return metadata;
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !OF_THE_STORE.has(key)));
}
