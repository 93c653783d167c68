import type { NftOperation, Transaction } from "@bulrush/nftables";

/**
 * Cuts a transaction in two where it makes interval sets: those first, with their elements, and then all else.
 *
 * Why: the kernel switches to new rules at one stroke, and shows what a batch put into an interval set a moment later
 * (some microseconds, more for large sets). For that moment new rules would find a new set empty. A set that nothing
 * looks up yet changes nothing by being there.
 *
 * A table that is made goes ahead with its sets. One part where it cannot be cut: where a table is deleted, and for a set
 * that takes the place of one of its name (table-swap.ts is the way for those).
 */
export function setsAhead(transaction: Transaction): Transaction[] {
  const { operations } = transaction;
  if (isMadeAnew(operations)) return [transaction];
  const deleted = new Set<string>();
  const fresh = new Set<string>();
  for (const operation of operations) {
    if (operation.kind === "delete-set") deleted.add(setKey(operation, operation.set));
    else if (operation.kind === "add-set" && operation.set.interval) fresh.add(setKey(operation, operation.set.name));
  }
  const isAhead = (operation: NftOperation): boolean => {
    if (operation.kind === "add-table") return true;
    if (operation.kind !== "add-set" && operation.kind !== "add-elements") return false;
    const key = setKey(operation, operation.set.name);
    return fresh.has(key) && !deleted.has(key);
  };
  const [ahead, rest] = transaction.partition(isAhead);
  return ahead.operations.every(({ kind }) => kind === "add-table") ? [transaction] : [ahead, rest];
}

/** True when a table is made that is deleted as well. One that merely goes may go with the second part. */
function isMadeAnew(operations: readonly NftOperation[]): boolean {
  const deleted = new Set<string>();
  for (const { kind, table } of operations) if (kind === "delete-table") deleted.add(`${table.family} ${table.name}`);
  if (deleted.size === 0) return false;
  return operations.some(({ kind, table }) => kind !== "delete-table" && deleted.has(`${table.family} ${table.name}`));
}

function setKey({ table }: NftOperation, name: string): string {
  return `${table.family} ${name}`;
}
