import type { TableFamily } from "../state.ts";
import type { Statement } from "../statement.ts";

/** Expressions of one statement as bytes, by the family of the table. */
export type StatementBytes = Map<TableFamily, Uint8Array>;

const encodings = new WeakMap<Statement, StatementBytes>();

/**
 * Tells that this very object stands in many rules: what it encodes to is kept with it, and copied from then on. Nobody
 * may change it any more. For statements whose meaning does not depend on the rest of their rule; others are encoded as
 * ever. Gives the statement back.
 */
export function shareStatement<S extends Statement>(statement: S): S {
  if (!encodings.has(statement)) encodings.set(statement, new Map());
  return statement;
}

/** Where the bytes of a shared statement are kept; `undefined` for a statement that is not shared. */
export function sharedBytes(statement: Statement): StatementBytes | undefined {
  return encodings.get(statement);
}

/**
 * True when each statement of a rule can be encoded by itself: none needs an anonymous set, or has to know which protocol
 * the rule has matched so far.
 */
export function areIndependent(statements: readonly Statement[], family: TableFamily): boolean {
  return family !== "inet" && statements.every(isIndependent);
}

function isIndependent(statement: Statement): boolean {
  if (statement.kind === "reject") return false;
  if (statement.kind !== "match") return true;
  const { left, right } = statement;
  if (right.kind === "anonymous") return false;
  return left.kind !== "payload" || (left.field !== "icmp type" && left.field !== "icmpv6 type");
}
