/** What a lab must have. */
export function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`The lab lacks ${what}`);
  return value;
}
