import { type NftOperation, planTable, type TableReadback, type TableState, Transaction } from "@bulrush/nftables";

/** Behind the name of a table: the one that stands in for it while it is made anew. */
const STANDBY_SUFFIX = "-standby";

/** Beside a table, under a name of its own: the same contents. */
export function standbyOf(state: TableState): TableState {
  return { ...state, name: standbyName(state.name) };
}

export function standbyName(name: string): string {
  return `${name}${STANDBY_SUFFIX}`;
}

/** All of a table but its base chains: no packet comes to it. */
function withoutHooks(state: TableState): TableState {
  return { ...state, chains: new Map([...state.chains].filter(([, { base }]) => base === undefined)) };
}

/** True when packets come to the table. */
export function isLive(table: Pick<TableReadback, "asleep" | "chains">): boolean {
  return !table.asleep && [...table.chains.values()].some(({ base }) => base !== undefined);
}

/** Writes tables that no packet comes to yet. They must not exist. May be cut into parts. */
export function planQuietly(states: readonly TableState[]): Transaction {
  const transaction = new Transaction();
  for (const state of states) planTable(withoutHooks(state), undefined, transaction);
  return transaction;
}

/**
 * Lets the packets of `from` go to `to` instead, at one stroke: `to` was written by {@link planQuietly}; tables of `from`
 * are removed, whether they exist or not.
 */
export function planTakeover(to: readonly TableState[], from: readonly TableState[]): Transaction {
  const transaction = new Transaction();
  for (const state of to) planTable(state, withoutHooks(state), transaction);
  for (const state of from) removeTable(transaction, state);
  return transaction;
}

/** Removes a table, whether it exists or not. */
export function removeTable(transaction: Transaction, { family, name }: Pick<TableState, "family" | "name">): void {
  // Adding it first makes the delete work where there is none.
  transaction.addTable({ family, name }).deleteTable({ family, name });
}

/**
 * True when a plan makes an interval set in the place of one of the same name. What a batch puts into a new interval set
 * shows a moment after its rules do (sets-ahead.ts), and this one cannot go ahead.
 */
export function remakesIntervalSet({ operations }: Transaction): boolean {
  const deleted = new Set<string>();
  return operations.some((operation) => {
    if (operation.kind === "delete-set") deleted.add(setKey(operation, operation.set));
    return operation.kind === "add-set" && operation.set.interval && deleted.has(setKey(operation, operation.set.name));
  });
}

function setKey({ table }: NftOperation, name: string): string {
  return `${table.family} ${name}`;
}
