import type { CancelTimer, Clock } from "@bulrush/base";
import type { SyncerCallbacks, SyncStatus, Update } from "@bulrush/model";
import type { PublishResult, SnapshotCache } from "../cache/snapshot-cache.ts";
import { FlushWindow } from "./flush-window.ts";

export interface CacheFeederOptions {
  readonly cache: SnapshotCache;
  readonly clock: Clock;
  /** Resolves after everything that waits now had its turn: `setImmediate`. */
  readonly yieldTurn: () => Promise<void>;
  /** This many waiting changes are published at once, whatever the window. The cache's KVs per breadcrumb. */
  readonly maxBatch: number;
  readonly onPublished?: (result: PublishResult) => void;
}

/** A longer list of updates is taken in pieces of so many batches, with a turn for everybody else between them. */
const BATCHES_PER_TURN = 5;

/**
 * Brings what a syncer says into the cache, a flush window at a time.
 *
 * Order: KVs in the order in which they came. A status goes in with, and after, all the KVs that came before it; KVs
 * that come after it within one window go before it, which only makes a status later than it could be.
 *
 * Invariant: `#pending` holds at most `maxBatch` updates between two calls; a timer runs exactly while something is
 * pending.
 */
export class CacheFeeder implements SyncerCallbacks {
  readonly #options: CacheFeederOptions;
  readonly #window = new FlushWindow();
  #pending: Update[] = [];
  #status: SyncStatus | undefined = undefined;
  #seenAtMs = 0;
  #cancelTimer: CancelTimer | undefined = undefined;
  #closed = false;

  constructor(options: CacheFeederOptions) {
    this.#options = options;
  }

  get windowMs(): number {
    return this.#window.windowMs;
  }

  /** How long the last fan-out took. */
  onFanOut(durationMs: number): void {
    this.#window.onFanOut(durationMs);
  }

  onStatusUpdated(status: SyncStatus): void {
    if (this.#closed) return;
    this.#status = status;
    this.#seenAtMs = this.#options.clock.nowMs();
    this.#schedule();
  }

  onUpdates(updates: readonly Update[]): void | Promise<void> {
    if (this.#closed) return undefined;
    const { maxBatch } = this.#options;
    if (updates.length > maxBatch * BATCHES_PER_TURN) return this.#takeLarge(updates);
    this.#take(updates);
    // A source that fills batch after batch must not keep the sockets waiting.
    return updates.length >= maxBatch ? this.#options.yieldTurn() : undefined;
  }

  /** Publishes what waits. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#pending.length === 0 && this.#status === undefined) return;
    const updates = this.#pending;
    const status = this.#status;
    this.#pending = [];
    this.#status = undefined;
    const { cache, clock, onPublished } = this.#options;
    this.#window.onPublish(clock.monotonicMs());
    const result = cache.publish({ updates, status, nowMs: clock.nowMs(), seenAtMs: this.#seenAtMs });
    onPublished?.(result);
  }

  /** Publishes what waits, and nothing after it. */
  close(): void {
    this.flush();
    this.#closed = true;
  }

  async #takeLarge(updates: readonly Update[]): Promise<void> {
    const piece = this.#options.maxBatch * BATCHES_PER_TURN;
    for (let i = 0; i < updates.length; i += piece) {
      this.#take(updates.slice(i, i + piece));
      await this.#options.yieldTurn();
    }
  }

  #take(updates: readonly Update[]): void {
    if (updates.length === 0) return;
    this.#seenAtMs = this.#options.clock.nowMs();
    this.#window.onChange(this.#options.clock.monotonicMs());
    if (this.#pending.length === 0) this.#pending = updates.slice();
    else for (const update of updates) this.#pending.push(update);
    if (this.#pending.length >= this.#options.maxBatch) this.flush();
    else this.#schedule();
  }

  #schedule(): void {
    const { clock } = this.#options;
    if (this.#cancelTimer !== undefined) return;
    const delayMs = this.#window.waitMs(clock.monotonicMs());
    if (delayMs <= 0) this.flush();
    else this.#cancelTimer = clock.after(delayMs, () => this.flush());
  }
}
