/** A setting read from text: the value, or what is wrong with it (the tail of a sentence). */
export type Field<T> = { readonly value: T } | { readonly problem: string };

/** How the text of a setting becomes a value. Never sees an empty text. */
export type FieldReader<T> = (text: string) => Field<T>;

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `true`, `1`, `yes`, ... as in the reference configuration. */
export function readBoolean(text: string): Field<boolean> {
  switch (text.toLowerCase()) {
    case "true":
    case "1":
    case "yes":
    case "y":
    case "t":
      return { value: true };
    case "false":
    case "0":
    case "no":
    case "n":
    case "f":
      return { value: false };
    default:
      return { problem: "is not true or false" };
  }
}

/** A whole number in decimal, or in hexadecimal after `0x`. */
export function readInteger(first: number, last: number): FieldReader<number> {
  return (text) => {
    const value = /^-?[0-9]+$|^0[xX][0-9a-fA-F]+$/.test(text) ? Number(text) : Number.NaN;
    return value >= first && value <= last ? { value } : { problem: `is not a whole number from ${first} to ${last}` };
  };
}

/** Seconds as a number ("90", "0.5") or a duration ("90s", "1m30s", "500ms"). Zero and less mean off: 0. */
export function readSecondsAsMs(text: string): Field<number> {
  if (/^-?[0-9]+(\.[0-9]+)?$/.test(text)) return { value: Math.max(0, Number(text) * 1000) };
  if (!/^-?([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/.test(text)) return { problem: "is not a number of seconds or a duration" };
  if (text.startsWith("-")) return { value: 0 };
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9.]+)(ms|s|m|h)/g))
    total += Number(amount) * (UNITS_MS[unit ?? "s"] ?? 0);
  return { value: total };
}

/** One of a closed list of words, in any case. */
export function readChoice<T extends string>(words: readonly T[]): FieldReader<T> {
  return (text) => {
    const word = words.find((candidate) => candidate.toLowerCase() === text.toLowerCase());
    return word === undefined ? { problem: `is not one of ${words.join(", ")}` } : { value: word };
  };
}
