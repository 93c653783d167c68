import { type NftOperation, Transaction } from "@bulrush/nftables";

/**
 * Cuts a transaction in two where it makes interval sets: those first, with their elements, and then all else.
 *
 * Why: the kernel switches to new rules at one stroke, and shows what a batch put into an interval set a moment later
 * (some microseconds, more for large sets). For that moment new rules would find a new set empty. A set that nothing
 * looks up yet changes nothing by being there.
 *
 * One part where that cannot be: a table that is made or made anew (there were no rules before, or they go with it), and
 * a set that takes the place of one of its name.
 */
export function setsAhead(transaction: Transaction): Transaction[] {
  const { operations } = transaction;
  if (operations.some(({ kind }) => kind === "add-table" || kind === "delete-table")) return [transaction];
  const deleted = new Set<string>();
  const fresh = new Set<string>();
  for (const operation of operations) {
    if (operation.kind === "delete-set") deleted.add(setKey(operation, operation.set));
    else if (operation.kind === "add-set" && operation.set.interval) fresh.add(setKey(operation, operation.set.name));
  }
  const isAhead = (operation: NftOperation): boolean => {
    if (operation.kind !== "add-set" && operation.kind !== "add-elements") return false;
    const key = setKey(operation, operation.set.name);
    return fresh.has(key) && !deleted.has(key);
  };
  const ahead = operations.filter(isAhead);
  if (ahead.length === 0) return [transaction];
  return [
    new Transaction().push(...ahead),
    new Transaction().push(...operations.filter((operation) => !isAhead(operation))),
  ];
}

function setKey({ table }: NftOperation, name: string): string {
  return `${table.family} ${name}`;
}
