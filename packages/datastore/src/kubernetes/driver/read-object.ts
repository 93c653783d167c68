import {
  applyDefaults,
  isObject,
  type JsonObject,
  MAX_RESOURCE_NESTING,
  plainDataIssue,
  type Resource,
} from "@bulrush/model";
import type { Item } from "../../driver/driver.ts";
import type { ConversionOptions, ConvertedItem } from "../../manifest/to-item.ts";
import { formatPath } from "@bulrush/model/check";
import { errorAt } from "../../process/issue.ts";
import { readCrd } from "../crd-codec.ts";
import type { Source } from "./source.ts";

/** What an object of the API server is to the reader of a kind. */
export type ReadObject =
  | { readonly type: "item"; readonly item: Item }
  /** It has no place in the list: a pod on no host, or on the host's network. */
  | { readonly type: "hidden"; readonly revision: string }
  /** Not even its name can be read. `revision` is "" if that cannot be read either. */
  | { readonly type: "unreadable"; readonly message: string; readonly revision: string };

/**
 * Reads an object of a list or an event. The object is the caller's no more: parts of it go into the item. Never throws.
 */
export function readObject(raw: unknown, source: Source, options: ConversionOptions): ReadObject {
  const metadata = isObject(raw) ? raw["metadata"] : undefined;
  if (!isObject(raw) || !isObject(metadata))
    return { type: "unreadable", message: "An object without metadata", revision: "" };
  const { name, namespace, resourceVersion: revision } = metadata;
  if (typeof revision !== "string" || revision === "")
    return { type: "unreadable", message: `An object without a resourceVersion: ${shown(name)}`, revision: "" };
  if (typeof name !== "string" || name === "" || (source.namespaced && typeof namespace !== "string"))
    return { type: "unreadable", message: `An object without a name or namespace: ${shown(name)}`, revision };
  const converted = convert(raw, metadata, name, source, options);
  if (converted === undefined) return { type: "hidden", revision };
  const { issues, ...item } = converted;
  return { type: "item", item: { ...item, revision, ...(issues.length > 0 && { issues }) } };
}

function convert(
  raw: JsonObject,
  metadata: JsonObject,
  name: string,
  source: Source,
  options: ConversionOptions,
): ConvertedItem | undefined {
  // Objects in lists of native kinds do not name their kind.
  raw["apiVersion"] = source.apiVersion;
  raw["kind"] = source.kind;
  if (!source.isCalico) {
    if (isRaw(source)) raw["metadata"] = withoutManagedFields(metadata);
    return source.convert(raw as unknown as Resource, options);
  }
  const resource = withoutNulls({ ...raw, metadata: withoutNulls(withoutManagedFields(metadata)) });
  const odd = plainDataIssue(resource, MAX_RESOURCE_NESTING);
  const readable = odd === undefined ? resource : { ...resource, spec: {}, status: undefined };
  const item = source.convert(applyDefaults(readCrd(readable as unknown as Resource)), options);
  if (item === undefined) return undefined;
  // The name in the store: a policy may go by another one, which need not be alone with it.
  if (odd === undefined) return { ...item, name };
  return { ...item, name, value: undefined, issues: [errorAt(formatPath(odd.path), odd.message)] };
}

/** The kinds that travel as they are. What the others keep of the metadata is chosen field by field. */
function isRaw({ kind }: Source): boolean {
  return kind === "Service" || kind === "EndpointSlice";
}

/** Who set which field: often half of an object, and of no use here. */
function withoutManagedFields(metadata: JsonObject): JsonObject {
  const { managedFields: _, ...rest } = metadata;
  return rest;
}

/** A null field is an absent one. */
function withoutNulls(object: JsonObject): JsonObject {
  for (const value of Object.values(object)) {
    if (value === null) return Object.fromEntries(Object.entries(object).filter(([, entry]) => entry !== null));
  }
  return object;
}

function shown(name: unknown): string {
  return JSON.stringify(name)?.slice(0, 100) ?? "no name";
}
