/** RFC 2474, 3246: the names of single code points. */
const NAMED: Readonly<Record<string, number>> = { DF: 0, EF: 46 };

/**
 * A DSCP: a number from 0 to 63 or its text, or a name in any case: DF, EF, AF11 to AF43 (RFC 2597), CS0 to CS7.
 * Undefined for anything else.
 */
export function parseDscp(value: unknown): number | undefined {
  const text = Number.isInteger(value) ? String(value) : typeof value === "string" ? value : "";
  const name = text.trim().toUpperCase();
  if (/^\d{1,2}$/.test(name)) return Number(name) <= 63 ? Number(name) : undefined;
  if (Object.hasOwn(NAMED, name)) return NAMED[name];
  const assured = /^AF([1-4])([1-3])$/.exec(name);
  if (assured !== null) return Number(assured[1]) * 8 + Number(assured[2]) * 2;
  const selector = /^CS([0-7])$/.exec(name);
  return selector === null ? undefined : Number(selector[1]) * 8;
}
