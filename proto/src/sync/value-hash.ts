import { hash } from "node:crypto";
import { isResourcePath } from "./resource-maps.ts";

/** Bits kept of the SHA-256: enough that two values of one key never meet by chance. */
const HASH_CHARACTERS = 16;

/**
 * 128 bits that are equal exactly when two values are, as 16 characters of one byte each. Objects and Maps are the
 * same, the order of their keys does not count, and a field that is undefined is absent. The revision of a resource
 * (`metadata.resourceVersion`) is left out: several servers may hold the same content under different ones.
 */
export function hashValue(path: string, value: unknown): string {
  const content = isResourcePath(path) ? withoutRevision(value) : value;
  return hash("sha256", canonicalText(content), "binary").slice(0, HASH_CHARACTERS);
}

/** Unambiguous: every string carries its length, every list its number of items or its end. */
function canonicalText(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `s${value.length}:${value}`;
    case "number":
      return `n${value};`;
    case "boolean":
      return value ? "t" : "f";
    case "object":
      if (value === null) return "z";
      if (Array.isArray(value)) {
        let text = `a${value.length}:`;
        for (const item of value) text += canonicalText(item);
        return text;
      }
      return value instanceof Map ? canonicalMap(value) : canonicalRecord(value as Readonly<Record<string, unknown>>);
    default:
      return "u";
  }
}

function canonicalMap(map: ReadonlyMap<string, unknown>): string {
  let text = "{";
  for (const key of [...map.keys()].sort()) {
    const field = map.get(key);
    if (field !== undefined) text += `${key.length}:${key}${canonicalText(field)}`;
  }
  return `${text}}`;
}

function canonicalRecord(record: Readonly<Record<string, unknown>>): string {
  let text = "{";
  for (const key of Object.keys(record).sort()) {
    const field = record[key];
    if (field !== undefined) text += `${key.length}:${key}${canonicalText(field)}`;
  }
  return `${text}}`;
}

function withoutRevision(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("metadata" in value)) return value;
  const metadata = value.metadata;
  if (typeof metadata !== "object" || metadata === null) return value;
  return { ...value, metadata: { ...metadata, resourceVersion: undefined } };
}
