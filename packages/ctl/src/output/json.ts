import { compareStrings } from "@bulrush/base";

/** JSON text; Maps become objects sorted by key, Sets arrays. `indent` as in JSON.stringify. */
export function formatJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, replacer, indent);
}

/** The value as plain JSON data, in the same way. */
export function plainJson(value: unknown): unknown {
  return JSON.parse(formatJson(value) ?? "null");
}

function replacer(_name: string, value: unknown): unknown {
  if (value instanceof Map)
    return Object.fromEntries([...(value as Map<string, unknown>)].sort(([a], [b]) => compareStrings(a, b)));
  if (value instanceof Set) return [...(value as Set<unknown>)];
  return value;
}
