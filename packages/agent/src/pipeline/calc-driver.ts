import {
  CalcGraph,
  type CalcGraphConfig,
  type CalcGraphOptions,
  type CalcMessage,
  FlushBucket,
  TICK_MS,
} from "@bulrush/calc";
import type { CancelTimer, Clock } from "@bulrush/base";
import type { DataplaneHandle } from "@bulrush/dataplane";
import { felixParametersOf } from "@bulrush/datastore";
import type { SyncerCallbacks, SyncStatus, Update } from "@bulrush/model";
import type { ConfigUpdate, Encapsulation, ToDataplane } from "@bulrush/proto";
import type { SourceCallbacks } from "../source/source.ts";
import { StartCollector } from "./start-collector.ts";

/** What a run needs once the datastore's contents are known. */
export interface RunParts {
  readonly graph: Partial<CalcGraphConfig>;
  /** Puts the validation filter before the graph. What it gives must work synchronously, as the graph does. */
  readonly filter: (graph: SyncerCallbacks) => SyncerCallbacks;
  /** The driver only sends to it; whoever started it stops it. */
  readonly dataplane: Pick<DataplaneHandle, "send" | "mark">;
}

/** What the driver needs of a graph. */
export type DrivenGraph = Pick<CalcGraph, "onUpdates" | "onStatusUpdated" | "flush" | "stats">;

interface CalcDriverEvents {
  /** After each batch that went into the graph. */
  onProcessed?(updates: readonly Update[], tookMs: number): void;
  /** After each flush, with the number of messages. */
  onFlushed?(messages: number, tookMs: number): void;
  onStatus?(status: SyncStatus): void;
  /** The graph has everything and is about to be flushed for the first time. */
  onRunning?(): void;
  /** The graph sees other settings in the datastore. */
  onConfig(message: ConfigUpdate): void;
  onEncapsulation(message: Encapsulation): void;
  /** The datastore says of itself that it is not ready any more. */
  onDatastoreNotReady(): void;
}

export interface CalcDriverOptions {
  readonly hostname: string;
  readonly clock: Clock;
  /**
   * Called at the first in-sync with everything that is there; again after each change while it gives undefined (the
   * datastore is not ready). Must not throw.
   */
  readonly begin: (contents: Iterable<Update>) => Promise<RunParts | undefined>;
  readonly events: CalcDriverEvents;
  /** Default: the real graph. */
  readonly makeGraph?: (options: CalcGraphOptions) => DrivenGraph;
}

const FEED_SLICE = 1000;

/**
 * Drives the calculation graph of this host.
 *
 * ```
 *               first in-sync            begin() gives parts
 *  collecting ----------------> waiting --------------------> running
 *  newest value per key         (not ready: again             onUpdates -> filter -> graph
 *                                after each change)           flush: bucket allows, and nothing is being sent
 *                                                             graph messages -> dataplane.send, then mark(sequence)
 * ```
 *
 * Before the first in-sync nothing is computed: the settings that the graph and the dataplane start with are in the
 * datastore too. While the dataplane is busy the graph takes updates and coalesces them, so nothing piles up.
 *
 * Invariant: `#out` is empty but during a flush; `#mark` is a place of which everything was given to the graph and
 * that the dataplane has not heard of.
 */
export class CalcDriver implements SourceCallbacks {
  readonly #options: CalcDriverOptions;
  readonly #collector = new StartCollector();
  #graph: DrivenGraph | undefined;
  /** The filter, with the graph behind it. */
  #input: SyncerCallbacks | undefined;
  #parts: RunParts | undefined;
  #bucket: FlushBucket | undefined;
  #status: SyncStatus = "wait-for-ready";
  #seenInSync = false;
  #mark: number | undefined;
  #out: ToDataplane[] = [];
  #sending = false;
  #stopped = false;
  #cancelTick: CancelTimer | undefined;

  constructor(options: CalcDriverOptions) {
    this.#options = options;
  }

  get status(): SyncStatus {
    return this.#status;
  }

  /** True from the moment that the graph has everything. */
  get running(): boolean {
    return this.#graph !== undefined;
  }

  /** How big the cluster is; undefined before the graph runs. */
  get stats(): CalcGraph["stats"] | undefined {
    return this.#graph?.stats;
  }

  /** Keys gathered before the first in-sync. */
  get collected(): number {
    return this.#collector.size;
  }

  async onUpdates(updates: readonly Update[]): Promise<void> {
    if (this.#stopped) return;
    if (this.#input === undefined) {
      this.#collector.add(updates);
      if (this.#seenInSync) await this.#begin();
      return;
    }
    this.#feed(this.#input, updates);
    this.#bucket?.onEvent();
    this.#maybeFlush();
  }

  async onStatusUpdated(status: SyncStatus): Promise<void> {
    if (this.#stopped) return;
    this.#status = status;
    this.#options.events.onStatus?.(status);
    if (this.#input !== undefined) {
      void this.#input.onStatusUpdated(status);
      this.#bucket?.onEvent(status === "in-sync");
      this.#maybeFlush();
      return;
    }
    if (status !== "in-sync") return;
    this.#seenInSync = true;
    await this.#begin();
  }

  onSequence(sequence: number): void {
    this.#mark = sequence;
    // Nothing waits for a flush: the place is reached by what was sent already.
    if (this.#bucket?.dirty === false) this.#sendMark();
  }

  /** Gives the dataplane nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#cancelTick?.();
  }

  async #begin(): Promise<void> {
    const { clock, hostname, begin } = this.#options;
    const parts = await begin(this.#collector.values());
    if (parts === undefined || this.#stopped) return;
    const makeGraph = this.#options.makeGraph ?? ((options: CalcGraphOptions) => new CalcGraph(options));
    const graph = makeGraph({
      hostname,
      config: parts.graph,
      parametersOf: felixParametersOf,
      sink: (message) => this.#onMessage(message),
    });
    const input = parts.filter(graph);
    void input.onStatusUpdated("resync");
    for (const slice of this.#collector.drain(FEED_SLICE)) {
      this.#feed(input, slice);
      // A big cluster takes seconds: timers and sockets get their turn.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    void input.onStatusUpdated("in-sync");
    this.#parts = parts;
    this.#graph = graph;
    this.#input = input;
    this.#bucket = new FlushBucket(clock.monotonicMs());
    this.#bucket.onEvent(true);
    this.#options.events.onRunning?.();
    this.#maybeFlush();
  }

  #feed(input: SyncerCallbacks, updates: readonly Update[]): void {
    const { clock, events } = this.#options;
    const startMs = clock.monotonicMs();
    void input.onUpdates(updates);
    events.onProcessed?.(updates, clock.monotonicMs() - startMs);
  }

  #maybeFlush(): void {
    const bucket = this.#bucket;
    if (bucket === undefined || this.#stopped) return;
    bucket.onTick(this.#options.clock.monotonicMs());
    if (!this.#sending && bucket.takeFlush()) this.#flush();
    if (bucket.dirty && !this.#sending) this.#armTick();
  }

  #armTick(): void {
    this.#cancelTick ??= this.#options.clock.after(TICK_MS, () => {
      this.#cancelTick = undefined;
      this.#maybeFlush();
    });
  }

  #flush(): void {
    const { clock, events } = this.#options;
    const startMs = clock.monotonicMs();
    this.#graph?.flush();
    const messages = this.#out;
    this.#out = [];
    events.onFlushed?.(messages.length, clock.monotonicMs() - startMs);
    if (messages.length > 0) {
      this.#sending = true;
      const sent = this.#parts?.dataplane.send(messages) ?? Promise.resolve();
      // A dataplane that fails says so by itself; here it only must not hold the graph back.
      void sent
        .catch(() => {})
        .then(() => {
          this.#sending = false;
          this.#maybeFlush();
        });
    }
    this.#sendMark();
  }

  #sendMark(): void {
    if (this.#mark === undefined || this.#stopped) return;
    this.#parts?.dataplane.mark(this.#mark);
    this.#mark = undefined;
  }

  #onMessage(message: CalcMessage): void {
    const { events } = this.#options;
    switch (message.msg) {
      case "DatastoreNotReady":
        events.onDatastoreNotReady();
        return;
      case "ConfigUpdate":
        // The dataplane was started with the settings of all sources; these are the datastore's alone.
        events.onConfig(message);
        return;
      case "Encapsulation":
        events.onEncapsulation(message);
        this.#out.push(message);
        return;
      default:
        this.#out.push(message);
    }
  }
}
