import { CodedError, type Clock, messageOf } from "@bulrush/base";
import type { NftConnection, TableFamily } from "@bulrush/nftables";
import { planRemoval } from "./plan-removal.ts";

/** The tables that iptables-nft makes, in the families that the reference system used. */
const TABLES = ["raw", "mangle", "nat", "filter"] as const;
const FAMILIES: readonly TableFamily[] = ["ip", "ip6"];
/** A sign that there may be something of ours, in a listing that is cheaper than the whole table. */
const OWN_NAME = /^(cali|califw|felix)-/;
const RETRY_MS = 10_000;
const MAX_TRIES = 6;

export interface LeftoverCleanerOptions {
  readonly nft: NftConnection;
  readonly clock: Clock;
  readonly onInfo: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  readonly onWarning: (message: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Asks for {@link LeftoverCleaner.run} in this time. */
  readonly wakeIn: (delayMs: number) => void;
}

/**
 * Removes, once after a start, what a Felix before us has left in the tables of iptables-nft. To be run when our own
 * rules are in force. Nothing of others is touched; what does not work is tried again a few times, and then left.
 */
export class LeftoverCleaner {
  readonly #options: LeftoverCleanerOptions;
  #triesLeft = MAX_TRIES;
  #dueMs = -Infinity;

  constructor(options: LeftoverCleanerOptions) {
    this.#options = options;
  }

  run(): void {
    const { clock, onWarning, wakeIn } = this.#options;
    if (this.#triesLeft === 0 || clock.monotonicMs() < this.#dueMs) return;
    this.#triesLeft--;
    const failed: string[] = [];
    for (const family of FAMILIES)
      for (const name of TABLES)
        try {
          this.#clean(family, name);
        } catch (error) {
          if (!(error instanceof CodedError)) throw error;
          failed.push(`${family} ${name}: ${messageOf(error)}`);
        }
    if (failed.length === 0) {
      this.#triesLeft = 0;
      return;
    }
    onWarning("Remove rules of an earlier Felix from the tables of iptables", { failed, triesLeft: this.#triesLeft });
    this.#dueMs = clock.monotonicMs() + RETRY_MS;
    if (this.#triesLeft > 0) wakeIn(RETRY_MS);
  }

  #clean(family: TableFamily, name: string): void {
    const { nft, onInfo } = this.#options;
    const seen = nft
      .rules(family, name)
      .some(
        ({ chain, comment = "", target = "" }) =>
          OWN_NAME.test(chain) || OWN_NAME.test(target) || comment.startsWith("cali:"),
      );
    if (!seen) return;
    const generation = nft.generation();
    const table = nft.readTable(family, name);
    if (table === undefined) return;
    const removal = planRemoval(table);
    if (removal.isEmpty) return;
    // Handles are those of this generation: whoever changes the table meanwhile makes us look again.
    nft.run(removal, { expectedGeneration: generation });
    onInfo("Removed rules of an earlier Felix", { table: `${family} ${name}`, operations: removal.operations.length });
  }
}
