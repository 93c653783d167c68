/** A JSON object of unknown contents. */
export type JsonObject = Record<string, unknown>;

/** True for a JSON object: not null, not an array, not a Map (as label maps are in memory). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Map);
}
