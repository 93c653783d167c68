/**
 * True when two values have the same content. The order of object fields and of Map entries does not count, nor does the
 * difference between an absent field and an undefined one; the order of lists does, and so does whether something is an
 * object or a Map. `null` is a value. Quick for shared objects: an identical reference is never walked.
 */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null)
    return Number.isNaN(a) && Number.isNaN(b);
  if (Array.isArray(a)) return Array.isArray(b) && sameList(a, b);
  if (a instanceof Map) return b instanceof Map && sameMap(a, b);
  if (Array.isArray(b) || b instanceof Map) return false;
  return sameFields(a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>);
}

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!sameValue(a[i], b[i])) return false;
  return true;
}

function sameMap(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (!b.has(key) || !sameValue(value, b.get(key))) return false;
  return true;
}

function sameFields(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  let present = 0;
  for (const name of Object.keys(a)) {
    const value = a[name];
    if (value === undefined) continue;
    if (!Object.hasOwn(b, name) || !sameValue(value, b[name])) return false;
    present++;
  }
  for (const name of Object.keys(b)) if (b[name] !== undefined) present--;
  return present === 0;
}
