import { type NftOperation, Transaction } from "@bulrush/nftables";

/** Elements in one part: at most 100 bytes each on the wire, it stays under the smallest send buffer. */
const MAX_ELEMENTS = 1000;

/**
 * Cuts a transaction that is too large for the socket into parts that are safe one after the other: first what sets hold
 * (in their order, in pieces), then all chains, rules and maps as one, then the sets that go. Between the parts, sets
 * are new while rules are old; no part leaves a hook without its rules. One part: it cannot be cut.
 */
export function splitTransaction(transaction: Transaction): Transaction[] {
  // A table that is made anew cannot come in parts: hooks would be bare in between.
  if (transaction.operations.some(({ kind }) => kind === "delete-table")) return [transaction];
  const parts: Transaction[] = [];
  let sets = new Transaction();
  let elements = 0;
  const rules = new Transaction();
  const last = new Transaction();
  for (const operation of transaction.operations) {
    if (operation.kind === "delete-set") last.push(operation);
    else if (isOfSets(operation)) {
      for (const piece of pieces(operation)) {
        const size = sizeOf(piece);
        if (elements + size > MAX_ELEMENTS) {
          parts.push(sets);
          sets = new Transaction();
          elements = 0;
        }
        sets.push(piece);
        elements += size;
      }
    } else rules.push(operation);
  }
  return [...parts, sets, rules, last].filter((part) => !part.isEmpty);
}

function isOfSets(operation: NftOperation): boolean {
  switch (operation.kind) {
    case "add-table":
    case "add-set":
    case "flush-set":
    case "add-elements":
    case "delete-elements":
      return true;
    default:
      return false;
  }
}

function sizeOf(operation: NftOperation): number {
  return operation.kind === "add-elements" || operation.kind === "delete-elements" ? operation.elements.length : 1;
}

function* pieces(operation: NftOperation): Generator<NftOperation> {
  if (operation.kind !== "add-elements" && operation.kind !== "delete-elements") {
    yield operation;
    return;
  }
  for (let from = 0; from < operation.elements.length; from += MAX_ELEMENTS)
    yield { ...operation, elements: operation.elements.slice(from, from + MAX_ELEMENTS) };
}
