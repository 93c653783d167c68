import { type NftOperation, Transaction } from "@bulrush/nftables";

/**
 * Cuts a plan in two where it wakes tables that somebody has put to sleep: that first, since the kernel adds no base chain
 * with it. What is in them is in force then, and what differs follows.
 */
export function wakingAhead(transaction: Transaction): Transaction[] {
  const { operations } = transaction;
  const wakes = (operation: NftOperation): boolean => operation.kind === "add-table" && operation.asleep === false;
  const ahead = operations.filter(wakes);
  if (ahead.length === 0) return [transaction];
  return [new Transaction().push(...ahead), new Transaction().push(...operations.filter((one) => !wakes(one)))];
}
