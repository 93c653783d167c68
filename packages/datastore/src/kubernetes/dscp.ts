/** RFC 2474, 2597, 3246: the names of code points. */
const NAMED: Readonly<Record<string, number>> = { DF: 0, EF: 46 };

/**
 * A DSCP: 0 to 63, or DF, EF, AF11 to AF43, CS0 to CS6 in any case. Undefined for anything else.
 */
export function parseDscp(text: string): number | undefined {
  const name = text.trim().toUpperCase();
  if (/^\d{1,2}$/.test(name)) return Number(name) <= 63 ? Number(name) : undefined;
  if (Object.hasOwn(NAMED, name)) return NAMED[name];
  const assured = /^AF([1-4])([1-3])$/.exec(name);
  if (assured !== null) return Number(assured[1]) * 8 + Number(assured[2]) * 2;
  const selector = /^CS([0-6])$/.exec(name);
  return selector === null ? undefined : Number(selector[1]) * 8;
}
