import { messageOf, printable } from "@bulrush/base";
import {
  applyDefaults,
  CALICO_V3,
  isObject,
  type JsonObject,
  MAX_RESOURCE_NESTING,
  plainDataIssue,
  type Resource,
} from "@bulrush/model";
import type { Item } from "../driver/driver.ts";
import type { ItemIssue } from "../driver/item-issue.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import { hasNameOfUser, METADATA_ANNOTATION, nameOfUser } from "../driver/name-of-user.ts";
import { checkStructure, withoutBadLabels } from "../manifest/structure.ts";
import { formatPath } from "@bulrush/model/check";
import { errorAt } from "../process/issue.ts";
import type { KeyValue } from "./client/messages.ts";
import { isIpamKind, readIpamSpec } from "./ipam-spec.ts";
import { placeOf, type Place } from "./key-layout.ts";

/**
 * An entry of etcd as an item, with the defaults that a writer would have set. Undefined for a key that is none of the
 * kind. What cannot be read is an item without a value, and says why. Never throws.
 */
export function readItem(kind: DatastoreKind, entry: KeyValue): Item | undefined {
  const path = entry.key.toString("utf8");
  const place = placeOf(kind, path);
  if (place === undefined) return undefined;
  const { value, issues } = readValue(kind, path, place, entry);
  return {
    kind,
    ...place,
    revision: String(entry.mod_revision),
    value: value && applyDefaults(value),
    subject: { kind, ...place },
    ...(issues.length > 0 && { issues }),
  };
}

/** A resource as it is stored: nothing is added. Undefined for what cannot be read. */
export function readStored(kind: DatastoreKind, entry: KeyValue): Resource | undefined {
  const path = entry.key.toString("utf8");
  const place = placeOf(kind, path);
  return place && readValue(kind, path, place, entry).value;
}

/** Of an entry that `readStored` gives nothing for, in one line. */
export function whyUnreadable(kind: DatastoreKind, entry: KeyValue): string {
  const path = entry.key.toString("utf8");
  const place = placeOf(kind, path);
  const issue = place && readValue(kind, path, place, entry).issues[0];
  const field = issue?.field === undefined || issue.field === "" ? "" : `${issue.field}: `;
  return printable(`${path}: ${issue === undefined ? `not a key of a ${kind}` : `${field}${issue.message}`}`);
}

interface ReadValue {
  readonly value: Resource | undefined;
  readonly issues: readonly ItemIssue[];
}

function unreadable(...issues: readonly ItemIssue[]): ReadValue {
  return { value: undefined, issues };
}

function readValue(kind: DatastoreKind, path: string, place: Place, entry: KeyValue): ReadValue {
  const text = entry.value.toString("utf8");
  let object: unknown;
  try {
    // An affinity of an old version has no value at all.
    object = text === "" && kind === "BlockAffinity" ? {} : (JSON.parse(text) as unknown);
  } catch (error) {
    return unreadable(errorAt("", `Is no JSON: ${messageOf(error)}`));
  }
  if (!isObject(object)) return unreadable(errorAt("", "Expected an object"));
  const revision = String(entry.mod_revision);
  return isIpamKind(kind)
    ? readIpam(readIpamSpec(kind, path, place.name, object), kind, place.name, revision)
    : readResource(object, kind, place, revision);
}

function readIpam(spec: JsonObject, kind: string, name: string, resourceVersion: string): ReadValue {
  const odd = plainDataIssue(spec, MAX_RESOURCE_NESTING);
  if (odd !== undefined) return unreadable(errorAt(formatPath(["spec", ...odd.path]), odd.message));
  return { value: { apiVersion: CALICO_V3, kind, metadata: { name, resourceVersion }, spec }, issues: [] };
}

function readResource(object: JsonObject, kind: string, place: Place, revision: string): ReadValue {
  if (object["apiVersion"] !== CALICO_V3)
    return unreadable(errorAt("apiVersion", `Expected "${CALICO_V3}", found ${shown(object["apiVersion"])}`));
  if (object["kind"] !== kind) return unreadable(errorAt("kind", `Expected "${kind}", found ${shown(object["kind"])}`));
  // The key has the last word on what it is the key of.
  const named = { ...withoutNulls(object), metadata: metadataOf(object, place, revision) };
  const found = checkStructure(named);
  const issues = "plural" in found ? [] : found.map(({ path, message }) => errorAt(formatPath(path), message));
  const readable = "plural" in found ? named : withoutBadLabels(named, found);
  if (readable === undefined) return unreadable(...issues);
  const warnings = issues.map((issue) => ({ ...issue, severity: "warning" as const }));
  return { value: asNamedByUser(readable as unknown as Resource), issues: warnings };
}

function metadataOf(object: JsonObject, { namespace, name }: Place, resourceVersion: string): JsonObject {
  const { namespace: _, managedFields: __, ...metadata } = isObject(object["metadata"]) ? object["metadata"] : {};
  return { ...withoutNulls(metadata), name, ...(namespace !== "" && { namespace }), resourceVersion };
}

/** A policy under the name that its user gave it, which an annotation keeps. */
function asNamedByUser(resource: Resource): Resource {
  if (!hasNameOfUser(resource.kind)) return resource;
  const { annotations, ...metadata } = resource.metadata;
  const { [METADATA_ANNOTATION]: kept, ...others } = annotations ?? {};
  const name = nameOfUser(resource, keptName(kept));
  const hasOthers = Object.keys(others).length > 0;
  return { ...resource, metadata: { ...metadata, name, ...(hasOthers && { annotations: others }) } };
}

function keptName(text: string | undefined): unknown {
  try {
    const kept: unknown = JSON.parse(text ?? "null");
    return isObject(kept) ? kept["name"] : undefined;
  } catch {
    return undefined;
  }
}

/** A null field is an absent one. */
function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 60);
}
