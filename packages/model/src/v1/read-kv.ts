import { isObject } from "../v3/json-object.ts";
import type { Key } from "./key.ts";
import { formatKey, legacyTierOf, parseKey } from "./path.ts";

/** A key and its value from outside, in the form of this version. The value's shape is not checked. */
export interface ReadKV {
  readonly key: Key;
  /** `formatKey(key)`. */
  readonly path: string;
  readonly value: unknown;
}

/**
 * Reads a path and its value; `undefined` for a path that is none of our keys. A policy of an older writer, which has
 * its tier in the path only, gets it into its value.
 */
export function readKV(path: string, value: unknown): ReadKV | undefined {
  const key = parseKey(path);
  if (key === undefined) return undefined;
  const tier = key.type === "Policy" ? legacyTierOf(path) : undefined;
  if (tier === undefined) return { key, path: path.startsWith("/") ? path : formatKey(key), value };
  return { key, path: formatKey(key), value: isObject(value) ? { ...value, tier } : value };
}
