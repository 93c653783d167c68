import figures from "./reference.json" with { type: "json" };

/** A figure of the reference system: the table's name, and the keys in it. */
export function reference(table: keyof typeof figures, ...keys: readonly (string | number)[]): number {
  let at: unknown = figures[table];
  for (const key of keys) at = (at as Readonly<Record<string, unknown>>)[String(key)];
  return at as number;
}
