import type { TableReadback } from "./readback.ts";
import type { TableState } from "./state.ts";
import { Transaction } from "./transaction.ts";

/**
 * The fewest writes that make `desired` out of `current`: the last state that was written (compared by identity
 * first, so keep unchanged chains and sets as the same objects), or what was read back. `undefined` for a table that
 * does not exist. Everything in the table that is not desired goes. Nothing to do: an empty transaction.
 *
 * Pure. Handed a `transaction`, it appends to it, so that several tables share one batch.
 */
export function planTable(
  _desired: TableState,
  _current: TableState | TableReadback | undefined,
  transaction: Transaction = new Transaction(),
): Transaction {
  return transaction;
}
