import { assert, BoundedQueue, type Clock } from "@bulrush/base";
import type { SyncerCallbacks, SyncerType, SyncStatus } from "@bulrush/model";
import type { DatastoreDriver } from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import type { DatastoreErrorCode } from "../errors.ts";
import type { DatastoreLogger } from "../logger.ts";
import type { Problem } from "../problem.ts";
import { Aggregator } from "./aggregator.ts";
import type { UnusableItems } from "./item-problems.ts";
import { type Result, RESULTS_QUEUE_CAPACITY } from "./result.ts";
import { kindsOf } from "./table.ts";
import { DEFAULT_CONNECTION_TIMEOUT_MS } from "./timing.ts";
import { WatcherCache } from "./watcher-cache.ts";

/** The driver stays the caller's. */
export interface SyncerOptions {
  readonly driver: DatastoreDriver;
  readonly clock: Clock;
  readonly callbacks: SyncerCallbacks;
  readonly logger?: DatastoreLogger;
  /** Restricts bgp and tunnel-ip-allocation to one node; absent or "": all. */
  readonly nodeName?: string;
  /** Silence after which the connection counts as lost. Default 600,000. */
  readonly connectionTimeoutMs?: number;
  /** Called with the whole list whenever it has changed: what the processors could not read. */
  readonly onProblems?: (problems: readonly Problem[]) => void;
}

/** Where one kind stands, for readiness and metrics. */
export interface KindReport {
  readonly kind: DatastoreKind;
  readonly status: SyncStatus;
  /** Why it is not in sync, or what is amiss though it is ("the API is missing"); absent when all is well. */
  readonly reason?: string;
  /** Of the error behind the reason; absent without a reason, and before the first list has ended. */
  readonly code?: DatastoreErrorCode;
  /** Since when the kind has not been in order, clock milliseconds; absent without a reason. */
  readonly sinceMs?: number;
  /** The stored things that cannot be used as they are written; absent when there is none. They hold nothing else up. */
  readonly unusable?: UnusableItems;
  /** Time since the server last answered (list, watch, event, bookmark, probe); undefined before the first answer. */
  readonly upstreamAgeMs: number | undefined;
  /** Keys sent and alive. */
  readonly keys: number;
}

/** What the last callbacks say. */
export interface StopOptions {
  /**
   * Deletes for all that is known go out last. Default false: whoever stops does not mean that the data is gone.
   */
  readonly sendDeletes?: boolean;
}

/**
 * Lists and watches every kind of one type, and says what became of their keys. The caller stops it; the driver stays
 * open.
 */
export interface Syncer {
  readonly type: SyncerType;
  /** Begins; call once. The first callback is the status wait-for-ready. */
  start(): void;
  /** Stops lists and watches and resolves after the last callback. A second call waits for the first. */
  stop(options?: StopOptions): Promise<void>;
  /** One entry a kind, in the order of the table. */
  report(): readonly KindReport[];
  /** The oldest answer among the kinds in milliseconds; undefined until each kind has had one. */
  upstreamAgeMs(): number | undefined;
  /** What the processors could not read at the moment. */
  problems(): readonly Problem[];
}

/** A syncer of one of the four types. It does nothing before `start`. */
export function createSyncer(type: SyncerType, options: SyncerOptions): Syncer {
  return new WatcherSyncer(type, options);
}

/** `createSyncer("felix", options)`. */
export function felixSyncer(options: SyncerOptions): Syncer {
  return createSyncer("felix", options);
}

class WatcherSyncer implements Syncer {
  readonly type: SyncerType;
  readonly #caches: readonly WatcherCache[];
  readonly #aggregator: Aggregator;
  #running: { readonly caches: readonly Promise<void>[]; readonly aggregator: Promise<void> } | undefined;
  #stopped: Promise<void> | undefined;

  constructor(type: SyncerType, options: SyncerOptions) {
    const { driver, clock, callbacks, logger, onProblems } = options;
    const { nodeName = "", connectionTimeoutMs = DEFAULT_CONNECTION_TIMEOUT_MS } = options;
    this.type = type;
    const queue = new BoundedQueue<Result>(RESULTS_QUEUE_CAPACITY);
    const kinds = kindsOf(type, driver.type, { nodeName, usePodCIDR: driver.usePodCIDR === true });
    this.#aggregator = new Aggregator(kinds.length, queue, callbacks);
    this.#caches = kinds.map(
      ({ kind, processor, name }, index) =>
        new WatcherCache({
          kind,
          processor,
          ...(name !== undefined && { name }),
          driver,
          clock,
          index,
          queue,
          connectionTimeoutMs,
          logger,
          onProblems: () => onProblems?.(this.problems()),
        }),
    );
  }

  start(): void {
    assert(this.#running === undefined, "A syncer is started once");
    const aggregator = this.#aggregator.run();
    this.#running = { aggregator, caches: this.#caches.map((cache) => cache.run()) };
  }

  stop({ sendDeletes = false }: StopOptions = {}): Promise<void> {
    this.#stopped ??= this.#stop(sendDeletes);
    return this.#stopped;
  }

  async #stop(sendDeletes: boolean): Promise<void> {
    if (this.#running === undefined) return;
    const { caches, aggregator } = this.#running;
    await Promise.all(this.#caches.map((cache, i) => cache.stop(caches[i] ?? Promise.resolve(), sendDeletes)));
    await aggregator;
  }

  report(): readonly KindReport[] {
    return this.#caches.map((cache): KindReport => {
      const { trouble } = cache;
      const unusable = cache.unusable();
      return {
        kind: cache.kind,
        status: cache.status,
        upstreamAgeMs: cache.upstreamAgeMs(),
        keys: cache.keys,
        ...(trouble !== undefined && { reason: trouble.text, sinceMs: trouble.sinceMs }),
        ...(trouble?.code !== undefined && { code: trouble.code }),
        ...(unusable !== undefined && { unusable }),
      };
    });
  }

  upstreamAgeMs(): number | undefined {
    let oldest = 0;
    for (const cache of this.#caches) {
      const ageMs = cache.upstreamAgeMs();
      if (ageMs === undefined) return undefined;
      oldest = Math.max(oldest, ageMs);
    }
    return oldest;
  }

  problems(): readonly Problem[] {
    return this.#caches.flatMap((cache) => cache.problems());
  }
}
