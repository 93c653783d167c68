import type { CountedRule, FlowtableReadback, TableReadback } from "./readback.ts";
import type { TableFamily } from "./state.ts";
import type { Transaction } from "./transaction.ts";

/**
 * The nf_tables of one network namespace: the kernel's, or a fake that is held to the same tests. All calls are
 * synchronous; one thread at a time. The caller closes it.
 */
export interface NftConnection {
  /** Grows with every transaction of anybody in this namespace, and with nothing else. */
  generation(): number;
  /**
   * Does all of it or nothing, as one batch. Throws {@link NftError}: `NFT_REFUSED` names each failing operation. An
   * empty transaction does nothing, and the generation stays.
   * With `expectedGeneration`, fails with `NFT_STALE_GENERATION` when anybody has changed anything since.
   */
  run(transaction: Transaction, options?: { readonly expectedGeneration?: number }): void;
  /**
   * The table as it is, read at one generation, or `undefined` when it does not exist. Throws `NFT_UNSTABLE` when
   * others keep changing the ruleset; never gives part of a table.
   */
  readTable(family: TableFamily, name: string): TableReadback | undefined;
  /**
   * The rules of a table in order of their chains, in one listing: cheaper than {@link readTable}. None where there is no
   * table. Throws `NFT_READ_FAILED`.
   */
  rules(family: TableFamily, name: string): CountedRule[];
  /** The flow tables of a table, with their devices of the moment; none where there is no table. Throws `NFT_READ_FAILED`. */
  flowtables(family: TableFamily, name: string): FlowtableReadback[];
  /** Frees the sockets. No call may follow it. */
  close(): void;
}
