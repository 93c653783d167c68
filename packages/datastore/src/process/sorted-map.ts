/**
 * A plain object of strings as a Map, sorted by key (UTF-16 units, as `<` has it). Where a name is in both, the one in
 * `extra` counts. The Map is the caller's.
 */
export function sortedMap(
  object: Readonly<Record<string, string>>,
  extra: readonly (readonly [name: string, value: string])[] = [],
): Map<string, string> {
  const names = Object.keys(object);
  for (const [name] of extra) if (!Object.hasOwn(object, name)) names.push(name);
  names.sort();
  const out = new Map<string, string>();
  for (const name of names) out.set(name, object[name] as string);
  // Each has its place already.
  for (const [name, value] of extra) out.set(name, value);
  return out;
}
