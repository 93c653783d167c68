/** Two maps of settings as one: `over` wins, whatever the case of the names (which come out in lower case). */
export function overlay(
  under: ReadonlyMap<string, string>,
  over: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const merged = new Map<string, string>();
  for (const [name, text] of [...under, ...over]) merged.set(name.toLowerCase(), text);
  return merged;
}
