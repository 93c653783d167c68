import { type NftOperation, Transaction } from "@bulrush/nftables";

/** Generous guesses of an operation's bytes on the wire, by which parts are filled. */
const ELEMENT_BYTES = 100;
const RULE_BYTES = 1500;
const OTHER_BYTES = 200;

/**
 * Cuts a transaction that is too large for the socket into parts of about `budgetBytes` that are safe one after the
 * other:
 *
 *     1  what sets hold, in the plan's order           sets are ahead of the rules for a moment
 *     2  new chains and their rules                    nothing leads to them yet
 *     3  changed chains, base chains, maps: as one     the change, all or nothing
 *     4  sets that go                                  nothing looks them up any more
 *
 * No part leaves a hook without its rules. One part: it cannot be cut, because something is deleted and made anew.
 */
export function splitTransaction(transaction: Transaction, budgetBytes: number): Transaction[] {
  const { operations } = transaction;
  if (operations.some(({ kind }) => kind === "delete-table") || hasRemade(operations)) return [transaction];
  const newChains = new Set<string>();
  for (const operation of operations)
    if (operation.kind === "add-chain" && operation.base === undefined) newChains.add(chainKey(operation));
  const stages: readonly NftOperation[][] = [[], [], [], []];
  for (const operation of operations) stages[stageOf(operation, newChains)]?.push(operation);
  const [sets = [], chains = [], changes = [], last = []] = stages;
  // Chains first: rules jump from one to another.
  const ordered = chains.toSorted((a, b) => Number(b.kind === "add-chain") - Number(a.kind === "add-chain"));
  const change = new Transaction();
  for (const operation of changes) change.push(operation);
  return [
    ...fill(
      sets.flatMap((operation) => pieces(operation, budgetBytes)),
      budgetBytes,
    ),
    ...fill(ordered, budgetBytes),
    change,
    ...fill(last, budgetBytes),
  ].filter((part) => !part.isEmpty);
}

function stageOf(operation: NftOperation, newChains: ReadonlySet<string>): number {
  switch (operation.kind) {
    case "add-table":
    case "add-set":
    case "flush-set":
    case "add-elements":
    case "delete-elements":
    case "add-map":
      return 0;
    case "add-chain":
    case "add-rule":
      return newChains.has(chainKey(operation)) ? 1 : 2;
    case "delete-set":
      return 3;
    default:
      return 2;
  }
}

function chainKey(operation: Extract<NftOperation, { readonly chain: string }>): string {
  return `${operation.table.family} ${operation.chain}`;
}

/** True when a chain, set or map is deleted and added in one transaction. */
function hasRemade(operations: readonly NftOperation[]): boolean {
  const deleted = new Set<string>();
  for (const operation of operations) {
    const { family } = operation.table;
    if (operation.kind === "delete-chain") deleted.add(`chain ${family} ${operation.chain}`);
    else if (operation.kind === "delete-set") deleted.add(`set ${family} ${operation.set}`);
    else if (operation.kind === "delete-map") deleted.add(`map ${family} ${operation.map}`);
    else if (
      (operation.kind === "add-chain" && deleted.has(`chain ${family} ${operation.chain}`)) ||
      (operation.kind === "add-set" && deleted.has(`set ${family} ${operation.set.name}`)) ||
      (operation.kind === "add-map" && deleted.has(`map ${family} ${operation.map.name}`))
    )
      return true;
  }
  return false;
}

function fill(operations: readonly NftOperation[], budgetBytes: number): Transaction[] {
  const parts: Transaction[] = [];
  let part = new Transaction();
  let bytes = 0;
  for (const operation of operations) {
    const size = bytesOf(operation);
    if (bytes > 0 && bytes + size > budgetBytes) {
      parts.push(part);
      part = new Transaction();
      bytes = 0;
    }
    part.push(operation);
    bytes += size;
  }
  parts.push(part);
  return parts;
}

function bytesOf(operation: NftOperation): number {
  switch (operation.kind) {
    case "add-elements":
    case "delete-elements":
      return OTHER_BYTES + operation.elements.length * ELEMENT_BYTES;
    case "add-rule":
      return RULE_BYTES;
    default:
      return OTHER_BYTES;
  }
}

function pieces(operation: NftOperation, budgetBytes: number): NftOperation[] {
  if (operation.kind !== "add-elements" && operation.kind !== "delete-elements") return [operation];
  const size = Math.max(1, Math.floor((budgetBytes - OTHER_BYTES) / ELEMENT_BYTES));
  const list: NftOperation[] = [];
  for (let from = 0; from < operation.elements.length; from += size)
    list.push({ ...operation, elements: operation.elements.slice(from, from + size) });
  return list;
}
