import { type AddressInfo, createServer } from "node:net";
import { Backoff, type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { SyncerType } from "@bulrush/proto";
import { lastingSample, type Logger, mergeSamples, type Metrics, type MetricsSample } from "@bulrush/service";
import type { ClientView } from "../admin/views.ts";
import type { SnapshotCache } from "../cache/snapshot-cache.ts";
import type { BalancedStream } from "../limit/balancer.ts";
import type { ShedTarget } from "../limit/plan-shed.ts";
import { AcceptProbe } from "../server/accept-probe.ts";
import type { ServerMetrics } from "../server/server-metrics.ts";
import type { SyncServerSettings } from "../server/settings.ts";
import type { ServedStream } from "../server/sync-server.ts";
import type { SyncTlsSettings, TlsMaterial } from "../server/tls-material.ts";
import { Certificates } from "./certificates.ts";
import type { MainAnswers } from "./messages.ts";
import { enabledLevels } from "./port-logger.ts";
import type { PropagationSamples, Serving } from "./serving.ts";
import { SharedPlaces } from "./shared-places.ts";
import { SharedSnapshots } from "./shared-snapshots.ts";
import type { StartThread } from "./start-thread.ts";
import { WorkerClients } from "./worker-clients.ts";
import { type PoolHost, WorkerSlot } from "./worker-slot.ts";

export interface WorkerPoolOptions {
  /** How many workers. */
  readonly count: number;
  readonly settings: SyncServerSettings;
  readonly streams: readonly (ServedStream & { readonly cache: SnapshotCache })[];
  /** Empty: all addresses. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly tls: SyncTlsSettings | undefined;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly yieldTurn: () => Promise<void>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly serverMetrics: ServerMetrics;
  readonly startThread: StartThread;
  /** The load of all workers, as JSON. */
  readonly load: (reserve: string | undefined) => string;
  /** Other servers that have room. */
  readonly peerTargets: () => readonly ShedTarget[];
  /** A client was told to go there. */
  readonly sentTo: (address: string) => void;
  readonly onTlsReloaded: (material: TlsMaterial) => void;
}

/** Between two messages with what changes by itself. */
const FACTS_MS = 1000;
/** Workers that are ready wait so many seconds for the others before they listen. */
const GATHER_TICKS = 10;
/** A worker's answer to a question takes no longer. */
const ANSWER_TIMEOUT_MS = 5000;
/** For the workers to end by themselves. */
const CLOSING_MS = 5000;

/**
 * Serves connections in worker threads, which all listen at one port: the kernel gives each connection to one of them, by
 * a hash of its addresses, so that many are spread evenly and few need not be.
 *
 * ```
 *   cache --onPublish--> StreamFeed (per worker and stream) --crumbs, in shared memory--> MirrorCache --> SyncServer
 *                                                                    (thread)
 *   facts each second ------------------------------------------------> ages of the sources, other servers
 *   WorkerClients <--joined, left--   probe, clients, metrics <--- report each second
 * ```
 * A worker that ends, for whatever reason, takes its connections with it: their clients come back, to any worker, and
 * resume. It is started again after a pause that grows while it keeps ending.
 *
 * Invariant: a slot per number from 1 to `count`, each with at most one thread; no timer runs after `close`.
 */
export class WorkerPool implements Serving {
  readonly listening: Promise<AddressInfo>;
  readonly #options: WorkerPoolOptions;
  readonly #listening: PromiseWithResolvers<AddressInfo> = Promise.withResolvers();
  readonly #slots: readonly WorkerSlot[];
  readonly #clients: WorkerClients;
  readonly #places: SharedPlaces;
  readonly #probe: AcceptProbe;
  readonly #guardBackoff: Backoff;
  #certificates: Certificates | undefined = undefined;
  /** Metrics of workers that have ended. */
  #lasting: MetricsSample = [];
  /** Where all listen; undefined: not known yet. */
  #port: number | undefined = undefined;
  #problem: string | undefined = "not started";
  #probeProblem: string | undefined = undefined;
  #isProbing = false;
  #ticks = 0;
  #isStopping = false;
  #cancelTimer: CancelTimer = () => {};
  #cancelGuard: CancelTimer = () => {};

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const { clock, count, metrics, random, logger, serverMetrics } = options;
    this.listening = this.#listening.promise;
    this.#clients = new WorkerClients(logger, serverMetrics.duplicates);
    this.#places = new SharedPlaces(count);
    this.#probe = new AcceptProbe({
      clock,
      onResult: (problem) => this.#onProbed(problem),
      onBegun: (peer) => this.#postAll({ type: "probe", peer }),
    });
    this.#guardBackoff = new Backoff({ initialMs: 100, maxMs: 5000 }, random);
    const restarts = metrics.counter({
      name: "bulrush_typha_worker_restarts",
      help: "Connection workers that ended and were started again",
    });
    const snapshots = new SharedSnapshots(options.yieldTurn);
    const host = this.#host();
    this.#slots = Array.from({ length: count }, (_, i) => {
      const init = {
        number: i + 1,
        settings: options.settings,
        places: this.#places.memory,
        logLevels: enabledLevels(logger),
        host: options.host,
        tls: options.tls,
      };
      return new WorkerSlot({ ...options, init, snapshots, host, restarts });
    });
    metrics.gaugeFrom(
      { name: "bulrush_typha_workers_serving", help: "Connection workers that accept clients" },
      () => this.#slots.filter((slot) => slot.isServing).length,
    );
    metrics.gaugeFamilyFrom(
      {
        name: "bulrush_typha_worker_eventloop_utilization",
        help: "Share of the last second that the event loop of a connection worker was busy",
        labels: ["worker"] as const,
      },
      () =>
        this.#slots.flatMap(({ report }, i) =>
          report === undefined ? [] : [[{ worker: String(i + 1) }, report.utilization] as const],
        ),
    );
    metrics.addSamples(() => [this.#lasting, ...this.#slots.map((slot) => slot.report?.metrics ?? [])]);
  }

  start(): void {
    const { clock, tls, onTlsReloaded, serverMetrics } = this.#options;
    if (tls !== undefined)
      this.#certificates = new Certificates({
        settings: tls,
        clock,
        onReloaded: onTlsReloaded,
        onResult: (result) => serverMetrics.certificates(result),
      });
    this.#problem = undefined;
    this.#guard();
    // Its timer before those of the workers' sweeps: what is due at the same time then goes by the newest facts.
    this.#cancelTimer = clock.after(FACTS_MS, () => this.#tick());
    for (const slot of this.#slots) slot.start();
  }

  problem(): string | undefined {
    if (this.#problem !== undefined) return this.#problem;
    if (this.#slots.some((slot) => slot.isServing)) return this.#probeProblem;
    return this.#slots[0]?.words() ?? "no connection worker serves";
  }

  notices(): readonly string[] {
    const certificates = this.#certificates?.problem;
    const words = this.#slots.map((slot) => slot.words()).filter((text) => text !== undefined);
    const notices = this.#slots.flatMap(({ report }) => report?.notices ?? []);
    if (certificates !== undefined) notices.push(`new certificates are not used: ${certificates}`);
    return [...new Set([...words, ...notices])];
  }

  certificateExpiresAtMs(): number | undefined {
    return this.#certificates?.expiresAtMs;
  }

  /** As of a second ago. */
  get connectionCount(): number {
    return this.#slots.reduce((sum, { report }) => sum + (report?.connections ?? 0), 0);
  }

  get streamCount(): number {
    return this.#clients.count;
  }

  streams(): readonly BalancedStream[] {
    return this.#clients.balanced();
  }

  async clients(): Promise<readonly ClientView[]> {
    const views = await this.#askAll("clients");
    return views.flat().map((view) => ({ ...view, duplicate: this.#clients.isDuplicate(view.connectionId) }));
  }

  async propagation(): Promise<PropagationSamples> {
    const answers = await this.#askAll("propagation");
    return new Map(
      this.#options.streams.map(({ cache: { syncer } }) => [syncer, answers.flatMap((of) => of.get(syncer) ?? [])]),
    );
  }

  stopListening(): void {
    this.#isStopping = true;
    this.#cancelGuard();
    this.#probe.stop();
    for (const slot of this.#slots) slot.stop();
    this.#postAll({ type: "stopListening" });
  }

  async drain(): Promise<void> {
    this.stopListening();
    await Promise.all(this.#slots.map((slot) => slot.drain()));
  }

  async close(): Promise<void> {
    this.stopListening();
    this.#cancelTimer();
    this.#certificates?.close();
    await Promise.all(this.#slots.map((slot) => slot.close(CLOSING_MS)));
  }

  #host(): PoolHost {
    return {
      load: this.#options.load,
      onStarted: () => this.postFacts(),
      onSentTo: this.#options.sentTo,
      onCaughtUp: () => this.#mayListen(),
      onListening: (address) => this.#onListening(address),
      onFanOut: (syncer) => this.#onFanOut(syncer),
      onProbed: (peer) => this.#probe.arrived(peer),
      onJoined: (worker, stream, post) => this.#clients.add(worker, stream, post),
      onLeft: (connectionId) => this.#clients.remove(connectionId),
      onEnd: (worker, metrics) => {
        this.#clients.removeAll(worker);
        this.#places.clear(worker);
        this.#lasting = mergeSamples([this.#lasting, lastingSample(metrics)]);
        this.#mayListen();
      },
    };
  }

  /**
   * Workers share their port with any process of the same user that asks for it, so that a second Typha would quietly take
   * half of the clients. Thus it is first taken alone, for a moment.
   */
  #guard(): void {
    const { host, port, clock, logger, serverMetrics } = this.#options;
    if (port === 0) return;
    const server = createServer();
    server.on("error", (error) => {
      serverMetrics.acceptErrors.inc();
      const retryInMs = Math.round(this.#guardBackoff.nextMs());
      const problem = `Cannot accept sync clients: ${messageOf(error)}`;
      if (problem !== this.#problem) logger.error("Cannot accept sync clients", { error, retryInMs });
      this.#problem = problem;
      if (!this.#isStopping) this.#cancelGuard = clock.after(retryInMs, () => this.#guard());
    });
    server.listen({ port, ...(host !== "" && { host }) }, () =>
      server.close(() => {
        this.#problem = undefined;
        this.#port = port;
        this.#mayListen();
      }),
    );
  }

  /**
   * Lets those listen that can, at first all at once: who came first would have all clients that wait, and keep them. While
   * the port is not known, one of them finds it.
   */
  #mayListen(): void {
    if (this.#isStopping || (this.#ticks < GATHER_TICKS && this.#slots.some((slot) => slot.isStarting))) return;
    const ready = this.#slots.filter((slot) => slot.isCaughtUp && !slot.wasToldToListen);
    const isBeingFound = this.#slots.some((slot) => slot.wasToldToListen);
    if (this.#port !== undefined) for (const slot of ready) slot.listen(this.#port);
    else if (this.#options.port === 0 && !isBeingFound) ready[0]?.listen(0);
  }

  #onListening(address: AddressInfo): void {
    this.#port = address.port;
    this.#listening.resolve(address);
    if (!this.#isProbing && !this.#isStopping) this.#probe.start(address);
    this.#isProbing = true;
    this.#mayListen();
  }

  #onProbed(problem: string | undefined): void {
    const words = problem === undefined ? undefined : `Cannot accept sync clients: ${problem}`;
    if (words !== undefined) this.#options.serverMetrics.acceptErrors.inc();
    // The same each time is said once.
    if (words !== undefined && words !== this.#probeProblem)
      this.#options.logger.error("Cannot accept sync clients", { problem });
    this.#probeProblem = words;
  }

  /** The flush window goes by the slowest worker. */
  #onFanOut(syncer: SyncerType): void {
    const stream = this.#options.streams.find(({ cache }) => cache.syncer === syncer);
    stream?.onFanOut?.(Math.max(...this.#slots.map((slot) => slot.fanOutMs(syncer))));
  }

  #postAll(message: Parameters<WorkerSlot["post"]>[0]): void {
    for (const slot of this.#slots) slot.post(message);
  }

  #tick(): void {
    this.postFacts();
    for (const slot of this.#slots) slot.watch();
    if (++this.#ticks === GATHER_TICKS) this.#mayListen();
    this.#cancelTimer = this.#options.clock.after(FACTS_MS, () => this.#tick());
  }

  /** Tells all workers what changes by itself; happens each second. */
  postFacts(): void {
    const { streams, peerTargets } = this.#options;
    const upstreamAgeMs = new Map(streams.map(({ cache, upstreamAgeMs: ageMs }) => [cache.syncer, ageMs()]));
    this.#postAll({ type: "facts", upstreamAgeMs, targets: peerTargets() });
  }

  /** A worker that ends meanwhile has no answer to give; one that is silent is not left out. */
  async #askAll<Q extends keyof MainAnswers>(question: Q): Promise<readonly MainAnswers[Q][]> {
    const answers = this.#slots.map((slot) => slot.ask(question, ANSWER_TIMEOUT_MS));
    return (await Promise.all(answers)).filter((answer) => answer !== undefined);
  }
}
