import { hash } from "node:crypto";
import { CanonicalWriter } from "./canonical-writer.ts";
import { isResourcePath } from "./resource-maps.ts";

/** Bits kept of the SHA-256: enough that two values of one key never meet by chance. */
const HASH_CHARACTERS = 16;

/** Made when first used: a browser reads the protocol too, and has no Buffer. */
let writer: CanonicalWriter | undefined;

/**
 * 128 bits that are equal exactly when two KVs are, as 16 characters of one byte each. Objects and Maps are the
 * same, the order of their keys does not count, and a field that is undefined is absent. The revision of a resource
 * (`metadata.resourceVersion`) is left out: several servers may hold the same content under different ones.
 */
export function hashValue(path: string, value: unknown): string {
  const content = isResourcePath(path) ? withoutRevision(value) : value;
  writer ??= new CanonicalWriter();
  return hash("sha256", writer.write([path, content]), "binary").slice(0, HASH_CHARACTERS);
}

function withoutRevision(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("metadata" in value)) return value;
  const metadata = value.metadata;
  if (typeof metadata !== "object" || metadata === null) return value;
  return { ...value, metadata: { ...metadata, resourceVersion: undefined } };
}
