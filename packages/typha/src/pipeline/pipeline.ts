import type { Clock } from "@bulrush/base";
import { createSyncer, type DatastoreDriver, type KindReport, type Problem, type Syncer } from "@bulrush/datastore";
import { createValidationFilter, type SyncerCallbacks, type SyncStatus } from "@bulrush/model";
import type { SyncerType } from "@bulrush/proto";
import type { Logger } from "@bulrush/service";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import type { ServedStream } from "../server/sync-server.ts";
import { CacheFeeder } from "./cache-feeder.ts";
import { createFrameEncoders } from "./frame-encoder.ts";
import { kindWords } from "./kind-words.ts";
import type { CacheMetrics } from "./pipeline-metrics.ts";
import { ReachedRevision } from "./reached-revision.ts";

export interface PipelineOptions {
  readonly type: SyncerType;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: CacheMetrics;
  /** Random, for the cache's epoch. */
  readonly epoch: string;
  readonly yieldTurn: () => Promise<void>;
  /** How many clients share the frames. */
  readonly clients: () => number;
  /** KVs per breadcrumb. */
  readonly maxBatch: number;
  /** Budget of the retained breadcrumbs. */
  readonly retainBytes: number;
  /** Other threads serve the cache too. */
  readonly forThreads: boolean;
}

/** Makes the source of a pipeline; it calls back from `start` on, and reads through what `observe` makes of its driver. */
export type SyncerFactory = (
  type: SyncerType,
  callbacks: SyncerCallbacks,
  observe: (driver: DatastoreDriver) => DatastoreDriver,
) => Syncer;

/** The usual source: a syncer on a datastore. */
export function datastoreSyncer(driver: DatastoreDriver, clock: Clock, logger: Logger): SyncerFactory {
  return (type, callbacks, observe) =>
    createSyncer(type, { driver: observe(driver), clock, callbacks, logger: logger.child({ syncer: type }) });
}

/**
 * One stream, from its source to its cache.
 *
 * ```
 *  syncer --> validation filter --> feeder (flush window) --> snapshot cache --> served stream
 *             bad values closed       ^                                             |
 *             or held back            +------------- how long a fan-out took -------+
 * ```
 * Every arrow keeps order; back-pressure goes the other way, as promises. The cache is there, and served, before the
 * source is: clients that come early wait for in-sync like everybody.
 */
export class Pipeline {
  readonly type: SyncerType;
  readonly cache: SnapshotCache;
  readonly stream: ServedStream;
  readonly #options: PipelineOptions;
  readonly #feeder: CacheFeeder;
  readonly #startedAtMs: number;
  readonly #reached: ReachedRevision;
  #syncer: Syncer | undefined = undefined;

  constructor(options: PipelineOptions) {
    const { type, clock, yieldTurn, logger, metrics } = options;
    this.#options = options;
    this.type = type;
    this.#startedAtMs = clock.monotonicMs();
    this.#reached = new ReachedRevision(clock);
    this.cache = new SnapshotCache({
      syncer: type,
      epoch: options.epoch,
      ...createFrameEncoders(options.clients, options.forThreads),
      yieldTurn,
      nowMs: clock.nowMs(),
      maxBatch: options.maxBatch,
      retainBytes: options.retainBytes,
      onUnsendable: (path, reason) => {
        metrics.onInvalid();
        logger.error("No client could read this value, the one before it stays", { path, reason });
      },
    });
    this.#feeder = new CacheFeeder({
      cache: this.cache,
      clock,
      yieldTurn,
      maxBatch: options.maxBatch,
      onPublished: (result) => metrics.onPublished(result),
    });
    this.stream = {
      cache: this.cache,
      upstreamAgeMs: () => this.upstreamAgeMs(),
      reached: () => {
        // What was read a second ago may still wait for a timer where many connections come at once: not behind this.
        this.#feeder.flush();
        return this.#reached.state();
      },
      onFanOut: (durationMs) => this.#feeder.onFanOut(durationMs),
    };
  }

  /** Connects the source and starts it. Once. */
  start(createSource: SyncerFactory): void {
    const { logger, metrics } = this.#options;
    const filter = createValidationFilter(this.#feeder, (update, issues, outcome) => {
      metrics.onInvalid();
      logger.warn("Invalid value from the datastore", {
        path: update.path,
        revision: update.revision,
        outcome,
        issues: issues.slice(0, 5).map(({ path, message }) => `${path}: ${message}`),
      });
    });
    this.#syncer = createSource(this.type, filter, (driver) => this.#reached.observe(driver));
    this.#syncer.start();
  }

  /**
   * Stops the source. What it says while it stops (deletes of all that it knew) is not published: clients keep what
   * they have.
   */
  async stop(): Promise<void> {
    this.#feeder.close();
    await this.#syncer?.stop();
  }

  get status(): SyncStatus {
    return this.cache.head.status;
  }

  /** Age of the oldest kind's last answer; counted from the start while a kind has had none. */
  upstreamAgeMs(): number {
    return this.#syncer?.upstreamAgeMs() ?? this.#options.clock.monotonicMs() - this.#startedAtMs;
  }

  /** The kinds that the source lists and watches. */
  kinds(): readonly KindReport[] {
    return this.#syncer?.report() ?? [];
  }

  /** What the source could not read at the moment. */
  problems(): readonly Problem[] {
    return this.#syncer?.problems() ?? [];
  }

  get flushWindowMs(): number {
    return this.#feeder.windowMs;
  }

  /** What is amiss with single kinds, in one text; none when all is well or nothing has begun. */
  words(): readonly string[] {
    const words = kindWords(this.kinds());
    return words === "" ? [] : [words];
  }

  /** For readiness: in sync, or why not. */
  readiness(): { readonly ready: boolean; readonly detail: string } {
    const { status, cache } = this;
    const because = this.words()
      .map((words) => ` (${words})`)
      .join("");
    if (status === "in-sync") return { ready: true, detail: `in sync, ${cache.size} keys${because}` };
    if (this.#syncer === undefined) return { ready: false, detail: "waiting for the datastore" };
    const waiting = status === "wait-for-ready" ? "waiting for the datastore to be ready" : "reading the datastore";
    return { ready: false, detail: `${waiting}${because}` };
  }
}
