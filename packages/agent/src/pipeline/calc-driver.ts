import {
  CalcGraph,
  type CalcGraphConfig,
  type CalcGraphOptions,
  type CalcMessage,
  FlushBucket,
  type IpSetDescription,
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
  /** Waited for between two slices of the contents that the graph is fed with. */
  readonly whenFed?: () => Promise<void>;
}

/** What a run begins with. */
export interface RunContents {
  readonly updates: Iterable<Update>;
  /** True: exactly what {@link CalcDriver.hold} was given. */
  readonly isAsHeld: boolean;
}

/** What the driver needs of a graph. */
export type DrivenGraph = Pick<CalcGraph, "onUpdates" | "onStatusUpdated" | "flush" | "stats"> &
  Partial<Pick<CalcGraph, "describeIpSet">>;

interface CalcDriverEvents {
  /** After each batch that went into the graph. */
  onProcessed?(updates: readonly Update[], tookMs: number): void;
  /** After each flush, with its messages, before they go to the dataplane. */
  onFlushed?(messages: readonly ToDataplane[], tookMs: number): void;
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
   * Called at the first in-sync (or before it, by `beginFromHeld`) with everything that is there; again after each change
   * while it gives undefined (the datastore is not ready), and at `rebuild`. Must not throw.
   */
  readonly begin: (contents: RunContents) => Promise<RunParts | undefined>;
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
 *  hold: what was saved, before anything else                      rebuild: a new graph and dataplane, from what was
 *  beginFromHeld: as if in sync with that                          saved; the source waits meanwhile
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
  #collector = new StartCollector();
  #isAsHeld = false;
  #graph: DrivenGraph | undefined;
  /** The filter, with the graph behind it. */
  #input: SyncerCallbacks | undefined;
  #parts: RunParts | undefined;
  #bucket: FlushBucket | undefined;
  #status: SyncStatus = "wait-for-ready";
  #seenInSync = false;
  #mark: number | undefined;
  /** The newest that the dataplane was told. */
  #lastMark: number | undefined;
  /** What must not overlap runs one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
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

  /** What an IP set stands for, for people; undefined where it is not known. */
  describeIpSet(id: string): IpSetDescription | undefined {
    return this.#graph?.describeIpSet?.(id);
  }

  /** Keys gathered before the first in-sync. */
  get collected(): number {
    return this.#collector.size;
  }

  /** What an earlier life had. Before anything else; it is there as if the source had sent it. */
  hold(updates: readonly Update[]): void {
    this.#collector.add(updates);
    this.#isAsHeld = true;
  }

  /** Does not wait for the source: begins with what there is. Without effect once a run has begun. */
  beginFromHeld(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#input !== undefined || this.#stopped) return;
      this.#seenInSync = true;
      await this.#begin();
    });
  }

  /**
   * Begins anew with everything that `read` gives, which must be what the graph has. False: it gave false, and all is as
   * it was.
   */
  rebuild(read: (take: (updates: readonly Update[]) => void) => Promise<boolean>): Promise<boolean> {
    return this.#inTurn(async () => {
      const collector = new StartCollector();
      if (this.#input === undefined || this.#stopped) return false;
      if (!(await read((updates) => collector.add(updates)))) return false;
      this.#collector = collector;
      this.#isAsHeld = true;
      this.#input = undefined;
      this.#bucket = undefined;
      this.#mark ??= this.#lastMark;
      await this.#begin();
      return true;
    });
  }

  onUpdates(updates: readonly Update[]): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#stopped) return;
      if (this.#input === undefined) {
        this.#collector.add(updates);
        this.#isAsHeld = false;
        if (this.#seenInSync) await this.#begin();
        return;
      }
      this.#feed(this.#input, updates);
      this.#bucket?.onEvent();
      this.#maybeFlush();
    });
  }

  onStatusUpdated(status: SyncStatus): Promise<void> {
    return this.#inTurn(async () => {
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
    });
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

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(work);
    // A bug in the graph is the caller's to meet, not that of whoever comes next.
    this.#turn = run.catch(() => {});
    return run;
  }

  async #begin(): Promise<void> {
    const { clock, hostname, begin } = this.#options;
    const parts = await begin({ updates: this.#collector.values(), isAsHeld: this.#isAsHeld });
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
      await parts.whenFed?.();
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
    events.onFlushed?.(messages, clock.monotonicMs() - startMs);
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
    this.#lastMark = this.#mark;
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
