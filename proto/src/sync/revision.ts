/** Decimal, and small enough for a double to hold exactly. */
const NUMBER = /^\d{1,15}$/;

/** The number that a revision is; undefined where it is something else, and says nothing of order. */
export function revisionNumber(revision: string): number | undefined {
  return NUMBER.test(revision) ? Number(revision) : undefined;
}
