import { compareStrings } from "@bulrush/base";
import type { Key } from "./key.ts";
import type { Value } from "./value.ts";

/** Fields that are label maps, wherever they stand in a v1 value. */
const MAP_FIELDS: ReadonlySet<string> = new Set(["labels", "annotations"]);

function toPlain(_name: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries([...value].sort(([a], [b]) => compareStrings(a, b))) : value;
}

/** The value as upstream stores it: JSON, label maps as objects sorted by key. */
export function formatValue(value: Value): string {
  return JSON.stringify(value, toPlain);
}

/** {@link formatValue} as plain objects. */
export function plainValue(value: Value): unknown {
  return JSON.parse(formatValue(value));
}

/**
 * Turns parsed JSON into a v1 value: label maps become Maps. The shape is not checked here; the validation filter
 * does that. Resources (v3 shapes) stay plain.
 */
export function valueFromPlain(key: Key, plain: unknown): Value {
  if (key.type === "Resource") return plain as Value;
  if (key.type === "ProfileLabels") return toMap(plain) as Value;
  return withMaps(plain) as Value;
}

function toMap(plain: unknown): unknown {
  return plain !== null && typeof plain === "object" && !Array.isArray(plain) ? new Map(Object.entries(plain)) : plain;
}

function withMaps(plain: unknown): unknown {
  if (Array.isArray(plain)) return plain.map(withMaps);
  if (plain === null || typeof plain !== "object") return plain;
  return Object.fromEntries(
    Object.entries(plain).map(([name, value]) => [name, MAP_FIELDS.has(name) ? toMap(value) : withMaps(value)]),
  );
}
