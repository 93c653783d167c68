import type { FlowtableShape, MapShape, NftOperation, RuleHandle, SetShape, TableRef } from "./operation.ts";
import type { BaseChain, RuleState } from "./state.ts";
import type { Verdict } from "./statement.ts";

/**
 * A list of operations that are done all or not at all, in order. Several tables may share one transaction.
 * Building it checks nothing and costs nothing; the connection that runs it encodes it.
 */
export class Transaction {
  /** The list itself, not a copy: it grows with later calls. */
  readonly #operations: NftOperation[] = [];

  get operations(): readonly NftOperation[] {
    return this.#operations;
  }

  get isEmpty(): boolean {
    return this.#operations.length === 0;
  }

  push(...operations: readonly NftOperation[]): this {
    for (const operation of operations) this.#operations.push(operation);
    return this;
  }

  #one(operation: NftOperation): this {
    this.#operations.push(operation);
    return this;
  }

  /** Takes over all operations of another transaction, behind those that are here. */
  append(other: Transaction): this {
    for (const operation of other.#operations) this.#operations.push(operation);
    return this;
  }

  /** Two transactions with all operations in their order: those that `isFirst` picks, and the rest. */
  partition(isFirst: (operation: NftOperation) => boolean): readonly [Transaction, Transaction] {
    const parts = [new Transaction(), new Transaction()] as const;
    for (const operation of this.#operations) parts[isFirst(operation) ? 0 : 1].#one(operation);
    return parts;
  }

  /** `asleep` puts the table to sleep or wakes it, also one that is there. */
  addTable(table: TableRef, asleep?: boolean): this {
    return this.#one({ kind: "add-table", table, ...(asleep === undefined ? {} : { asleep }) });
  }

  deleteTable(table: TableRef): this {
    return this.#one({ kind: "delete-table", table });
  }

  /** Without `base`, a chain that is only jumped to. Adding a base chain again changes its policy. */
  addChain(table: TableRef, chain: string, base?: BaseChain): this {
    return this.#one({ kind: "add-chain", table, chain, ...(base === undefined ? {} : { base }) });
  }

  /** Refused (EBUSY) while something jumps to it, unless the same transaction took that away before. */
  deleteChain(table: TableRef, chain: string): this {
    return this.#one({ kind: "delete-chain", table, chain });
  }

  flushChain(table: TableRef, chain: string): this {
    return this.#one({ kind: "flush-chain", table, chain });
  }

  addRule(table: TableRef, chain: string, rule: RuleState): this {
    return this.#one({ kind: "add-rule", table, chain, rule });
  }

  /** Without `before`, at the chain's beginning. */
  insertRule(table: TableRef, chain: string, rule: RuleState, before?: RuleHandle): this {
    return this.#one({ kind: "insert-rule", table, chain, rule, ...(before === undefined ? {} : { before }) });
  }

  replaceRule(table: TableRef, chain: string, handle: RuleHandle, rule: RuleState): this {
    return this.#one({ kind: "replace-rule", table, chain, handle, rule });
  }

  deleteRule(table: TableRef, chain: string, handle: RuleHandle): this {
    return this.#one({ kind: "delete-rule", table, chain, handle });
  }

  addSet(table: TableRef, set: SetShape): this {
    return this.#one({ kind: "add-set", table, set });
  }

  deleteSet(table: TableRef, set: string): this {
    return this.#one({ kind: "delete-set", table, set });
  }

  flushSet(table: TableRef, set: string): this {
    return this.#one({ kind: "flush-set", table, set });
  }

  /** No elements: no operation. */
  addElements(table: TableRef, set: SetShape, elements: readonly string[]): this {
    return elements.length === 0 ? this : this.#one({ kind: "add-elements", table, set, elements });
  }

  /** No elements: no operation. */
  deleteElements(table: TableRef, set: SetShape, elements: readonly string[]): this {
    return elements.length === 0 ? this : this.#one({ kind: "delete-elements", table, set, elements });
  }

  addMap(table: TableRef, map: MapShape): this {
    return this.#one({ kind: "add-map", table, map });
  }

  deleteMap(table: TableRef, map: string): this {
    return this.#one({ kind: "delete-map", table, map });
  }

  /** No elements: no operation. */
  addMapElements(table: TableRef, map: MapShape, elements: readonly (readonly [string, Verdict])[]): this {
    return elements.length === 0 ? this : this.#one({ kind: "add-map-elements", table, map, elements });
  }

  /** No keys: no operation. */
  deleteMapElements(table: TableRef, map: MapShape, keys: readonly string[]): this {
    return keys.length === 0 ? this : this.#one({ kind: "delete-map-elements", table, map, keys });
  }

  /** Adds its devices to one that is there already. */
  addFlowtable(table: TableRef, flowtable: FlowtableShape): this {
    return this.push({ kind: "add-flowtable", table, flowtable });
  }

  deleteFlowtable(table: TableRef, flowtable: string): this {
    return this.push({ kind: "delete-flowtable", table, flowtable });
  }

  /** No devices: no operation. */
  deleteFlowtableDevices(table: TableRef, flowtable: FlowtableShape): this {
    return flowtable.devices.length === 0 ? this : this.push({ kind: "delete-flowtable-devices", table, flowtable });
  }
}
