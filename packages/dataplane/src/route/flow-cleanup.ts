import { messageOf } from "@bulrush/base";
import type { FlowAccess } from "../kernel/kernel.ts";

/** Tries of one address: the first, and three more. */
const MAX_TRIES = 4;

/** Addresses of one call: so many that the rest of the dataplane never waits long. */
const BATCH = 256;

/** What one {@link FlowCleanup.run} did. */
export interface CleanupResult {
  /** In words, for the log. Empty: all went well. */
  readonly failures: readonly string[];
}

/**
 * Addresses whose last workload has gone, and whose tracked flows have to go too before the next workload gets the
 * address: else it would inherit what its predecessor was allowed.
 *
 *     route deleted ──add()──> pending ──run(): flows deleted──> free for the next route
 *                                 │  ^ fails, 3 times at most
 *                                 └──┘
 *
 * After the last try the address is free as well, and the log says so: a kernel that cannot list its flows must not
 * keep pods from the network for good.
 *
 * Invariant: `#pending` counts the failed tries of each address that waits.
 */
export class FlowCleanup {
  readonly #pending = new Map<string, number>();
  #failedLast = false;

  get size(): number {
    return this.#pending.size;
  }

  /** True when the next run should follow at once. After a failure it should not. */
  get hasMore(): boolean {
    return this.#pending.size > 0 && !this.#failedLast;
  }

  add(addresses: Iterable<string>): void {
    for (const address of addresses) this.#pending.set(address, 0);
  }

  /** True while the address must not be routed to anybody. */
  isPending(address: string): boolean {
    return this.#pending.has(address);
  }

  /** Cleans up one batch; the rest waits for the next call. Never throws. */
  run(flows: FlowAccess): CleanupResult {
    const batch = [...this.#pending.keys()].slice(0, BATCH);
    if (batch.length === 0) return { failures: [] };
    try {
      this.#failedLast = false;
      flows.deleteFlowsOf(batch);
    } catch (error) {
      this.#failedLast = true;
      return { failures: this.#failed(batch, messageOf(error)) };
    }
    for (const address of batch) this.#pending.delete(address);
    return { failures: [] };
  }

  #failed(batch: readonly string[], message: string): string[] {
    let given = 0;
    for (const address of batch) {
      const tries = (this.#pending.get(address) ?? 0) + 1;
      if (tries < MAX_TRIES) this.#pending.set(address, tries);
      else {
        this.#pending.delete(address);
        given++;
      }
    }
    const what = batch.length === 1 ? `${batch[0]}` : `${batch[0]} and ${batch.length - 1} others`;
    const end = given > 0 ? `; gave up after ${MAX_TRIES} tries, the next workload may inherit them` : "";
    return [`Delete flows of ${what}: ${message}${end}`];
  }
}
