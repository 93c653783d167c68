import type { TableFamily } from "../state.ts";
import type { Statement } from "../statement.ts";

/** What one statement has been made into, by the family of the table. */
export interface SharedForms {
  /** Its expressions as they are written. */
  readonly bytes: Map<TableFamily, Uint8Array>;
  /** Its part of a rule's key. */
  readonly keys: Map<TableFamily, string>;
}

/**
 * They hang on the statement itself, where equality and copies do not see them: thousands of entries of a weak map
 * would be gone through at each garbage collection.
 */
const FORMS: unique symbol = Symbol("forms of a shared statement");

interface Shared {
  readonly [FORMS]?: SharedForms;
}

/**
 * Tells that this very object stands in many rules: what it encodes to is kept with it, and copied from then on. Nobody
 * may change it any more. For statements whose meaning does not depend on the rest of their rule; others are encoded as
 * ever. Gives the statement back.
 */
export function shareStatement<S extends Statement>(statement: S): S {
  if (sharedForms(statement) === undefined) {
    const forms: SharedForms = { bytes: new Map(), keys: new Map() };
    Object.defineProperty(statement, FORMS, { value: forms });
  }
  return statement;
}

/** What is kept of a shared statement; `undefined` for a statement that is not shared. */
export function sharedForms(statement: Statement): SharedForms | undefined {
  return (statement as Shared)[FORMS];
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
