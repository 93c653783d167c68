import type { TableFamily } from "../state.ts";
import type { Statement } from "../statement.ts";

/** Expressions of one statement as bytes, by the family of the table. */
export type StatementBytes = Map<TableFamily, Uint8Array>;

/**
 * The bytes hang on the statement itself, where equality and copies do not see them: thousands of entries of a weak map
 * would be gone through at each garbage collection.
 */
const BYTES: unique symbol = Symbol("expressions of a shared statement");

interface Shared {
  readonly [BYTES]?: StatementBytes;
}

/**
 * Tells that this very object stands in many rules: what it encodes to is kept with it, and copied from then on. Nobody
 * may change it any more. For statements whose meaning does not depend on the rest of their rule; others are encoded as
 * ever. Gives the statement back.
 */
export function shareStatement<S extends Statement>(statement: S): S {
  if (sharedBytes(statement) === undefined) Object.defineProperty(statement, BYTES, { value: new Map() });
  return statement;
}

/** Where the bytes of a shared statement are kept; `undefined` for a statement that is not shared. */
export function sharedBytes(statement: Statement): StatementBytes | undefined {
  return (statement as Shared)[BYTES];
}

/**
 * True when each statement of a rule can be encoded by itself: none needs an anonymous set, or has to know which protocol
 * the rule has matched so far.
 */
export function areIndependent(statements: readonly Statement[], family: TableFamily): boolean {
  if (family === "inet") return false;
  for (const statement of statements) if (!isIndependent(statement)) return false;
  return true;
}

function isIndependent(statement: Statement): boolean {
  if (statement.kind === "reject") return false;
  if (statement.kind !== "match") return true;
  const { left, right } = statement;
  if (right.kind === "anonymous") return false;
  return left.kind !== "payload" || (left.field !== "icmp type" && left.field !== "icmpv6 type");
}
