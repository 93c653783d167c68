import type { Transaction } from "@bulrush/nftables";

/**
 * Cuts a plan in two where it wakes tables that somebody has put to sleep: that first, since the kernel adds no base chain
 * with it. What is in them is in force then, and what differs follows.
 */
export function wakingAhead(transaction: Transaction): Transaction[] {
  const [ahead, rest] = transaction.partition(
    (operation) => operation.kind === "add-table" && operation.asleep === false,
  );
  return ahead.isEmpty ? [transaction] : [ahead, rest];
}
