/** Orders strings by their UTF-16 code units: the same everywhere, whatever the locale. */
export function compareStrings(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
