/** Decimal, and small enough for a double to hold exactly; an etcd's has its cluster behind it: "1234@cdf818194e3a8c32". */
const NUMBER = /^(\d{1,15})(?:@[0-9a-f]{1,16})?$/;

/**
 * The number that a revision is; undefined where it is something else, and says nothing of order. Numbers of two stores
 * have nothing to do with each other: whoever compares them has to live with that.
 */
export function revisionNumber(revision: string): number | undefined {
  const digits = NUMBER.exec(revision)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
