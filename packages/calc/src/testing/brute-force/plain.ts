/** Data as JSON has it, with the fields of objects sorted: equal values have equal text. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [field: string]: Plain };

/** What {@link plainRule} made, which is plain already. */
const plainRules = new WeakSet<object>();

/** Maps become objects, sets sorted lists; absent fields are left out. */
export function plain(value: unknown): Plain {
  if (typeof value === "object" && value !== null && plainRules.has(value)) return value as Plain;
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Set) return [...value].map(String).sort();
  const entries: [string, unknown][] =
    value instanceof Map ? [...value].map(([key, one]) => [String(key), one]) : Object.entries(value as object);
  return Object.fromEntries(
    entries
      .filter(([, one]) => one !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, plain(one)]),
  );
}

/** A rule: an empty field is no condition, the order of IP sets in a field means nothing, and its id is left out: `ruleIds` judges those. */
export function plainRule(rule: object): Plain {
  const { rule_id: _, ...fields } = rule as Record<string, unknown>;
  const kept = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => [name, name.endsWith("_ids") ? (value as string[]).toSorted() : value]);
  const out = plain(Object.fromEntries(kept));
  plainRules.add(out as object);
  return out;
}
