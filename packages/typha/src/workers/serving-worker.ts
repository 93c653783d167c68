import { type Clock, must, unreachable } from "@bulrush/base";
import type { SyncerType } from "@bulrush/proto";
import type { Logger, Metrics } from "@bulrush/service";
import { pickPeers } from "../limit/balancer.ts";
import type { ShedTarget } from "../limit/plan-shed.ts";
import type { Reached } from "../pipeline/reached-revision.ts";
import type { ClientSession } from "../server/client-session.ts";
import { createServerMetrics, type ServerMetrics } from "../server/server-metrics.ts";
import type { ServedStream, SyncServer } from "../server/sync-server.ts";
import type { FromWorker, ToWorker, WorkerAnswers, WorkerInit, WorkerQuestion } from "./messages.ts";
import { MirrorCache } from "./mirror-cache.ts";
import { OwnThread } from "./own-thread.ts";
import { portLogger } from "./port-logger.ts";
import { answerQuestion, Questions } from "./questions.ts";
import { SharedPlaces } from "./shared-places.ts";

export interface ServingWorkerOptions {
  readonly init: WorkerInit;
  /** To the main thread, in order. */
  readonly post: (message: FromWorker) => void;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** `setImmediate`. */
  readonly defer: (callback: () => void) => void;
  /** Of this worker alone. */
  readonly metrics: Metrics;
  /** Share of the time since the last call in which the event loop was busy. */
  readonly utilization: () => number;
  /** Everything is closed. */
  readonly onClosed: () => void;
}

const REPORT_MS = 1000;
/** Where the datastore was read to is not known until the main thread has said so: then clients wait for it. */
const NOT_KNOWN: Reached = { revision: 0, isWhole: false };

/**
 * A worker's side: a sync server with its own connections, over mirrors of the caches in the main thread.
 *
 * ```
 *  main thread --crumbs--> MirrorCache (each stream) --> SyncServer <--connections-- SyncListener (port shared by all)
 *       ^  ^--took, snapshot?, difference?---/                |
 *       \------joined, left, fan-outs, log, a report each second
 * ```
 * Invariant: `#ages` are the newest facts, `#agesAtMs` (monotonic) when they came.
 */
export class ServingWorker {
  readonly #options: ServingWorkerOptions;
  readonly #logger: Logger;
  readonly #own: OwnThread;
  readonly #mirrors: ReadonlyMap<SyncerType, MirrorCache>;
  readonly #questions: Questions<WorkerQuestion>;
  #ages: ReadonlyMap<SyncerType, number> = new Map();
  #agesAtMs: number;
  #targets: readonly ShedTarget[] = [];
  /** What the main thread has just said, while the clients that wait are looked at. */
  readonly #reached = new Map<SyncerType, Reached | undefined>();
  readonly #asksReached = new Set<SyncerType>();
  #cancelReport: () => void = () => {};
  #closed = false;

  constructor(options: ServingWorkerOptions) {
    this.#options = options;
    const { init, post, clock, random, defer } = options;
    this.#agesAtMs = clock.monotonicMs();
    this.#logger = portLogger(
      (level, message, fields) => post({ type: "log", level, message, fields }),
      init.logLevels,
    );
    this.#questions = new Questions((id, question) => post({ type: "ask", id, question }));
    this.#mirrors = new Map(init.streams.map((stream) => [stream.syncer, this.#mirror(stream)]));
    const metrics = workerMetrics(options.metrics);
    this.#own = new OwnThread({
      server: {
        settings: init.settings,
        streams: [...this.#mirrors.values()].map((mirror) => this.#stream(mirror)),
        clock,
        random,
        defer,
        logger: this.#logger,
        metrics,
        namePeers: () => this.#namePeers(),
        idPrefix: `w${init.number}-`,
        places: new SharedPlaces(init.places).of(init.number, init.settings.maxConnections),
        onJoined: (session) => this.#onJoined(session),
        onLeft: ({ id }) => post({ type: "left", connectionId: id }),
      },
      listener: {
        host: init.host,
        port: 0,
        tls: init.tls,
        handshakeTimeoutMs: init.settings.handshakeTimeoutMs,
        clock,
        random,
        logger: this.#logger,
        metrics,
        sharesPort: true,
        load: (reserve) => this.#ask<"load">({ type: "load", reserve }).catch(() => undefined),
      },
    });
    void this.#own.listening.then((address) => {
      post({ type: "listening", address });
      void this.#report();
    });
    void this.#report();
  }

  /** For tests without sockets: they hand connections over themselves. */
  get server(): SyncServer {
    return this.#own.server;
  }

  onMessage(message: ToWorker): void {
    const { post } = this.#options;
    switch (message.type) {
      case "crumbs": {
        const { syncer, crumbs, oldestSequence, wasInSync } = message;
        const mirror = must(this.#mirrors.get(syncer), "the mirror of a stream");
        mirror.take(crumbs, oldestSequence, wasInSync);
        post({ type: "took", syncer, sequence: mirror.head.sequence });
        return;
      }
      case "facts":
        this.#ages = message.upstreamAgeMs;
        this.#agesAtMs = this.#options.clock.monotonicMs();
        this.#targets = message.targets;
        return;
      case "answer":
      case "failed":
        this.#questions.onAnswer(message);
        return;
      case "ask":
        void answerQuestion(
          message.id,
          () => (message.question === "clients" ? this.#own.clients() : this.#own.propagation()),
          post,
        );
        return;
      case "listen":
        this.#own.start(message.port);
        return;
      case "superseded":
        this.server.find(message.connectionId)?.goodbye("superseded", "The same client has connected again");
        return;
      case "handOver":
        this.server.find(message.connectionId)?.handOver(message.reason, message.peers);
        return;
      case "probe":
        this.#own.expectProbe(message.peer, () => post({ type: "probed", peer: message.peer }));
        return;
      case "stopListening":
        this.#own.stopListening();
        return;
      case "drain":
        void this.#own.drain().then(() => post({ type: "drained" }));
        return;
      case "close":
        this.#close();
        return;
      default:
        unreachable(message);
    }
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelReport();
    this.#own.close();
    this.#questions.close(new Error("The worker closes"));
    this.#options.onClosed();
  }

  async #ask<T extends keyof WorkerAnswers>(
    question: Extract<WorkerQuestion, { readonly type: T }>,
  ): Promise<WorkerAnswers[T]> {
    return (await this.#questions.ask(question)) as WorkerAnswers[T];
  }

  #mirror(stream: WorkerInit["streams"][number]): MirrorCache {
    const { syncer } = stream;
    return new MirrorCache({
      ...stream,
      askSnapshot: (newest) => this.#ask<"snapshot">({ type: "snapshot", syncer, newest }),
      askDifference: (digests) => this.#ask<"difference">({ type: "difference", syncer, digests }),
      askHead: () => this.#ask<"head">({ type: "head", syncer }),
      release: (id, answers) => this.#options.post({ type: "release", syncer, id, answers }),
    });
  }

  #stream(mirror: MirrorCache): ServedStream {
    const { syncer } = mirror;
    return {
      cache: mirror,
      upstreamAgeMs: () => (this.#ages.get(syncer) ?? 0) + this.#options.clock.monotonicMs() - this.#agesAtMs,
      reached: () => this.#reachedOf(syncer),
      onFanOut: (durationMs) => this.#options.post({ type: "fanOut", syncer, durationMs }),
    };
  }

  /** Asks, where the answer is not at hand; the clients that wait for it are looked at again when it comes. */
  #reachedOf(syncer: SyncerType): Reached | undefined {
    if (this.#reached.has(syncer)) return this.#reached.get(syncer);
    if (!this.#asksReached.has(syncer)) {
      this.#asksReached.add(syncer);
      void this.#ask<"reached">({ type: "reached", syncer }).then(
        (reached) => {
          this.#asksReached.delete(syncer);
          this.#reached.set(syncer, reached);
          this.server.retryWaiting();
          this.#reached.delete(syncer);
        },
        () => this.#asksReached.delete(syncer),
      );
    }
    return NOT_KNOWN;
  }

  #namePeers(): readonly string[] {
    const { random, post } = this.#options;
    const names = pickPeers(this.#targets, random);
    if (names[0] !== undefined) post({ type: "sentTo", address: names[0] });
    return names;
  }

  #onJoined({ id, transport, connectedAtMs, hello }: ClientSession): void {
    const { syncer, hostname, clientId, info } = must(hello, "the hello of a stream");
    this.#options.post({
      type: "joined",
      stream: { connectionId: id, peer: transport.peer, connectedAtMs, hello: { syncer, hostname, clientId, info } },
    });
  }

  async #report(): Promise<void> {
    this.#cancelReport();
    const metrics = await this.#options.metrics.sample();
    if (this.#closed) return;
    const own = this.#own;
    this.#options.post({
      type: "report",
      connections: own.connectionCount,
      problem: own.problem(),
      notices: own.notices(),
      utilization: this.#options.utilization(),
      metrics,
    });
    this.#cancelReport();
    this.#cancelReport = this.#options.clock.after(REPORT_MS, () => void this.#report());
  }
}

/** What the main thread counts for all workers is not counted here. */
function workerMetrics(metrics: Metrics): ServerMetrics {
  return { ...createServerMetrics(metrics), duplicates: { set: () => {}, add: () => {} }, certificates: () => {} };
}
