import type { AddressInfo } from "node:net";
import { Backoff, type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { SyncerType } from "@bulrush/proto";
import type { Counter, Logger, MetricsSample } from "@bulrush/service";
import type { SnapshotCache } from "../cache/snapshot-cache.ts";
import type { SyncServerSettings } from "../server/settings.ts";
import type { ServedStream } from "../server/sync-server.ts";
import type { JoinedStream, MainAnswers, ToWorker, WorkerInit, WorkerReport } from "./messages.ts";
import type { SharedSnapshots } from "./shared-snapshots.ts";
import type { StartThread, WorkerThread } from "./start-thread.ts";
import { type LinkHandlers, WorkerLink } from "./worker-link.ts";

/** What concerns all workers. */
export interface PoolHost {
  load(reserve: string | undefined): string;
  /** A worker has begun, and knows no facts yet. */
  onStarted(): void;
  onCaughtUp(): void;
  onListening(address: AddressInfo): void;
  onFanOut(syncer: SyncerType): void;
  onSentTo(address: string): void;
  onProbed(peer: string): void;
  onJoined(worker: number, stream: JoinedStream, post: (message: ToWorker) => void): void;
  onLeft(connectionId: string): void;
  /** `metrics`: the last that it said. */
  onEnd(worker: number, metrics: MetricsSample): void;
}

export interface WorkerSlotOptions {
  readonly init: Omit<WorkerInit, "streams">;
  readonly settings: SyncServerSettings;
  readonly streams: readonly (ServedStream & { readonly cache: SnapshotCache })[];
  readonly snapshots: SharedSnapshots;
  readonly startThread: StartThread;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly restarts: Counter;
  readonly host: PoolHost;
}

/** Looks at a worker (one a second) without a report in between, after which it hangs; before its first report. */
const SILENT_LOOKS = 30;
const SILENT_LOOKS_AT_START = 120;
const RESTART_MS = { initialMs: 200, maxMs: 30_000 };
/** A worker that has lived so long starts again without much of a pause. */
const SETTLED_MS = 60_000;

/**
 * The place of one worker: its thread, and what it last said.
 *
 * ```
 *  starting --caught up--> ready --listen--> serving
 *      ^          ends, hangs, or cannot keep up |
 *      +------ back-off ------ ended <-----------+
 * ```
 * Invariant: `#link` and `#thread` are set from a start to the end of that thread.
 */
export class WorkerSlot {
  readonly #options: WorkerSlotOptions;
  readonly #logger: Logger;
  readonly #backoff: Backoff;
  readonly #fanOutMs = new Map<SyncerType, number>();
  #link: WorkerLink | undefined = undefined;
  #thread: WorkerThread | undefined = undefined;
  #report: WorkerReport | undefined = undefined;
  #startedAtMs = 0;
  #silentLooks = 0;
  #isCaughtUp = false;
  #wasToldToListen = false;
  #isListening = false;
  #isStopping = false;
  /** Why it ended, and that it is started again. */
  #endWords: string | undefined = undefined;
  /** Why it is ended by us. */
  #verdict: string | undefined = undefined;
  #onGone: () => void = () => {};
  #onDrained: () => void = () => {};
  #cancelRestart: CancelTimer = () => {};

  constructor(options: WorkerSlotOptions) {
    this.#options = options;
    this.#logger = options.logger.child({ worker: options.init.number });
    this.#backoff = new Backoff(RESTART_MS, options.random);
  }

  get report(): WorkerReport | undefined {
    return this.#report;
  }

  get isStarting(): boolean {
    return this.#link !== undefined && !this.#isCaughtUp;
  }

  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  get wasToldToListen(): boolean {
    return this.#wasToldToListen;
  }

  /** It takes connections. */
  get isServing(): boolean {
    return this.#isListening && this.#report?.problem === undefined;
  }

  /** How long its last fan-out of this type took. */
  fanOutMs(syncer: SyncerType): number {
    return this.#fanOutMs.get(syncer) ?? 0;
  }

  /** Why it does not serve; undefined: it does. */
  words(): string | undefined {
    if (this.isServing) return undefined;
    const name = `connection worker ${this.#options.init.number}`;
    if (this.#endWords !== undefined) return `${name} ${this.#endWords}`;
    const problem = this.#wasToldToListen ? this.#report?.problem : undefined;
    return `${name}: ${problem ?? "starting"}`;
  }

  start(): void {
    const { init, streams, snapshots, startThread, clock } = this.#options;
    this.#startedAtMs = clock.monotonicMs();
    this.#silentLooks = 0;
    let thread: WorkerThread | undefined;
    const link = new WorkerLink(
      streams.map(({ cache }) => cache),
      snapshots,
      (message) => thread?.post(message),
      this.#handlers(),
    );
    this.#link = link;
    try {
      thread = startThread(
        { ...init, streams: link.streams },
        {
          onMessage: (message) => link.onMessage(message),
          onEnd: (reason, error) => this.#onEnd(reason, error),
        },
      );
    } catch (error) {
      this.#onEnd(messageOf(error), error);
      return;
    }
    this.#thread = thread;
    link.start();
    this.#options.host.onStarted();
  }

  post(message: ToWorker): void {
    this.#link?.post(message);
  }

  listen(port: number): void {
    this.#wasToldToListen = true;
    this.post({ type: "listen", port });
  }

  /** undefined: it is not there, or ends before it has answered. */
  async ask<Q extends keyof MainAnswers>(question: Q, timeoutMs: number): Promise<MainAnswers[Q] | undefined> {
    const link = this.#link;
    if (link === undefined) return undefined;
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = this.#options.clock.after(timeoutMs, () =>
      reject(new Error(`Connection worker ${this.#options.init.number} does not answer`)),
    );
    try {
      return await Promise.race([link.ask(question), promise]);
    } catch (error) {
      if (link.isClosed) return undefined;
      throw error;
    } finally {
      cancel();
    }
  }

  /** Each second: a worker that hangs, or cannot keep up with the changes, is ended. */
  watch(): void {
    const link = this.#link;
    if (link === undefined || this.#verdict !== undefined) return;
    const { maxBacklogBytes } = this.#options.settings;
    const looks = this.#report === undefined ? SILENT_LOOKS_AT_START : SILENT_LOOKS;
    if (++this.#silentLooks > looks) this.#verdict = `it has said nothing for ${looks} s`;
    else if (this.#isCaughtUp && link.backlogBytes > maxBacklogBytes)
      this.#verdict = `${link.backlogBytes} bytes of changes wait for it`;
    if (this.#verdict !== undefined) this.#thread?.terminate();
  }

  /** It is not started again. */
  stop(): void {
    this.#isStopping = true;
    this.#cancelRestart();
  }

  /** Resolves when its last session is gone, or it is. After `stop`. */
  drain(): Promise<void> {
    if (this.#link === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.post({ type: "drain" });
    });
  }

  /** Resolves when it has ended: by itself, or by force after `patienceMs`. After `stop`. */
  close(patienceMs: number): Promise<void> {
    if (this.#link === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(patienceMs, () => this.#thread?.terminate());
      this.#onGone = () => {
        cancel();
        resolve();
      };
      this.post({ type: "close" });
    });
  }

  #handlers(): LinkHandlers {
    const { host, init, streams } = this.#options;
    return {
      reached: (syncer) => streams.find(({ cache }) => cache.syncer === syncer)?.reached?.(),
      load: (reserve) => host.load(reserve),
      onCaughtUp: () => {
        this.#isCaughtUp = true;
        host.onCaughtUp();
      },
      onListening: (address) => {
        this.#isListening = true;
        this.#endWords = undefined;
        host.onListening(address);
      },
      onReport: (report) => {
        this.#report = report;
        this.#silentLooks = 0;
      },
      onJoined: (stream) => host.onJoined(init.number, stream, (message) => this.post(message)),
      onLeft: (connectionId) => host.onLeft(connectionId),
      onFanOut: (syncer, durationMs) => {
        this.#fanOutMs.set(syncer, durationMs);
        host.onFanOut(syncer);
      },
      onSentTo: (address) => host.onSentTo(address),
      onLog: (level, message, fields) => this.#logger[level](message, fields),
      onProbed: (peer) => host.onProbed(peer),
      onDrained: () => this.#onDrained(),
    };
  }

  #onEnd(because: string, error?: unknown): void {
    const { clock, host, init, restarts } = this.#options;
    const reason = this.#verdict ?? because;
    const metrics = this.#report?.metrics ?? [];
    this.#link?.close();
    this.#link = undefined;
    this.#thread = undefined;
    this.#report = undefined;
    this.#verdict = undefined;
    this.#isCaughtUp = false;
    this.#wasToldToListen = false;
    this.#isListening = false;
    this.#fanOutMs.clear();
    host.onEnd(init.number, metrics);
    this.#onDrained();
    this.#onGone();
    if (this.#isStopping) return;
    if (clock.monotonicMs() - this.#startedAtMs > SETTLED_MS) this.#backoff.reset();
    const restartInMs = Math.round(this.#backoff.nextMs());
    this.#endWords = `ended (${reason}) and is started again`;
    this.#logger.error("A connection worker has ended", {
      reason,
      restartInMs,
      ...(error !== undefined && { error }),
    });
    this.#cancelRestart = clock.after(restartInMs, () => {
      restarts.inc();
      this.start();
    });
  }
}
