import type { AddressInfo } from "node:net";
import { type Clock, messageOf, must, sleep } from "@bulrush/base";
import { type DatastoreDriver, type DatastoreWriter, formatProblem, type Problem } from "@bulrush/datastore";
import { type SyncerType, SYNCER_TYPES } from "@bulrush/proto";
import type { HealthAggregator, Logger, Metrics } from "@bulrush/service";
import type { AdminApi } from "./admin/admin-api.ts";
import { type ConsoleFile, readConsole } from "./admin/console-files.ts";
import type { SnapshotView } from "./admin/snapshot-body.ts";
import { type CompareAnswer, type CompareQuestion, compareWith } from "./admin/compare.ts";
import { cachesView, clientsView } from "./admin/make-views.ts";
import type { StatusView } from "./admin/views.ts";
import { RANDOM_PORT, syncPort, syncServerSettings, syncTlsSettings } from "./config/load-typha-config.ts";
import type { TyphaConfig } from "./config/typha-config.ts";
import { DatastoreStart } from "./datastore-start.ts";
import { NodeCounter } from "./limit/node-counter.ts";
import { createTyphaBalancer, type TyphaBalancer } from "./limit/typha-balancer.ts";
import { registerKindMetrics } from "./pipeline/kind-metrics.ts";
import { timeText } from "./pipeline/kind-words.ts";
import { datastoreSyncer, Pipeline } from "./pipeline/pipeline.ts";
import { createPipelineMetrics, type PipelineMetrics } from "./pipeline/pipeline-metrics.ts";
import { createServerMetrics, type ServerMetrics } from "./server/server-metrics.ts";
import type { SyncServerSettings } from "./server/settings.ts";
import { propagationView } from "./server/propagation.ts";
import { TyphaHealth } from "./typha-health.ts";
import { VERSION } from "./version.ts";
import { OwnThread } from "./workers/own-thread.ts";
import type { Serving } from "./workers/serving.ts";
import { type StartThread, startThread } from "./workers/start-thread.ts";
import { WorkerPool } from "./workers/worker-pool.ts";

/** What a server has of its process. What it opens it closes; what is handed in stays the caller's. */
export interface TyphaDependencies {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** A new text each time that nobody can guess: the epochs of caches. */
  readonly newEpoch: () => string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly health: HealthAggregator;
  /** Opens the datastore; called again a second after each failure. Typha closes what it is given. */
  readonly openDatastore: (onProblems: (problems: readonly Problem[]) => void) => Promise<DatastoreDriver>;
  /**
   * Opens the same datastore for what comes before the first list (see {@link DatastoreStart}). Typha closes it. Default:
   * the datastore is taken as it is.
   */
  readonly openWriter?: () => Promise<DatastoreWriter>;
  /**
   * Opens the Kubernetes API that has the Service of the servers, for the connection limit. Typha closes it. Default:
   * there is none, and the limit is the upper one.
   */
  readonly openServices?: () => Promise<DatastoreWriter>;
  /** Told to clients in the welcome: the host's or pod's name. */
  readonly serverName: string;
  /** Starts a connection worker, where the settings ask for any. Default: a thread of its own, with the system's clock. */
  readonly startThread?: StartThread;
}

/** A Typha: everything but the process around it. */
export interface Typha {
  /** Starts all parts and returns at once. */
  start(): void;
  /** Resolves with the sync port's address once it is open. */
  readonly listening: Promise<AddressInfo>;
  /** Resolves with the admin API's address, or with undefined when it is not served. */
  readonly adminListening: Promise<AddressInfo | undefined>;
  /** Unready, goodbyes within ShutdownTimeoutSecs, then the end of all parts. Twice is fine. */
  stop(): Promise<void>;
}

/**
 * Wires a Typha together. Nothing runs before `start`.
 *
 * ```
 *   openDatastore --> driver --> Pipeline (one per syncer type):
 *   (again until                    syncer -> validation filter -> feeder -> snapshot cache
 *    it works)                                                                | breadcrumbs, snapshots
 *                                                                             v
 *   sync port --> SyncListener --TLS, upgrade--> SyncServer: sessions, fan-out, sweep, drain
 *                 (both in this thread, `OwnThread`, or in each of the workers of a `WorkerPool`: see there)
 *                                                                             |
 *   admin port --> admin API (clients, caches, status) <----------------------+
 *                                                                             |
 *   Service, nodes, other servers --> Balancer: limit, levelling --goodbyes---+   (ConnectionRebalancingMode)
 *
 *   TyphaHealth: every second a report per cache and one for the server; cache metrics
 * ```
 * The sync port is open before the datastore is: clients keep what they have until this server is in sync, so nothing
 * is lost by letting them in, and readiness keeps newcomers away.
 *
 * Stopping goes from the outside in: readiness, listener, goodbyes, server, pipelines, driver, admin API, health.
 */
export function createTypha(config: TyphaConfig, dependencies: TyphaDependencies): Typha {
  return new WiredTypha(config, dependencies);
}

const RETRY_MS = 1000;
const ADMIN_RETRY_MS = 10_000;

class WiredTypha implements Typha {
  readonly listening: Promise<AddressInfo>;
  readonly adminListening: Promise<AddressInfo | undefined>;
  readonly #config: TyphaConfig;
  readonly #deps: TyphaDependencies;
  readonly #settings: SyncServerSettings;
  readonly #pipelineMetrics: PipelineMetrics;
  readonly #serverMetrics: ServerMetrics;
  readonly #pipelines: readonly Pipeline[];
  readonly #serving: Serving;
  readonly #health: TyphaHealth;
  readonly #nodes: NodeCounter = new NodeCounter();
  readonly #balance: TyphaBalancer | undefined;
  readonly #startedAtMs: number;
  readonly #stopping = new AbortController();
  readonly #listening: PromiseWithResolvers<AddressInfo> = Promise.withResolvers();
  readonly #adminListening: PromiseWithResolvers<AddressInfo | undefined> = Promise.withResolvers();
  #driver: DatastoreDriver | undefined = undefined;
  #isStarted = false;
  #datastoreProblem: string | undefined = "The datastore is not open yet";
  #startProblem: string | undefined = undefined;
  #admin: AdminApi | undefined = undefined;
  #manifestProblems: readonly Problem[] = [];
  #stopped: Promise<void> | undefined = undefined;

  constructor(config: TyphaConfig, deps: TyphaDependencies) {
    this.#config = config;
    this.#deps = deps;
    this.listening = this.#listening.promise;
    this.adminListening = this.#adminListening.promise;
    const { clock, random, logger, metrics, health } = deps;
    this.#startedAtMs = clock.nowMs();
    this.#settings = syncServerSettings(config, deps.serverName);
    this.#pipelineMetrics = createPipelineMetrics(metrics);
    this.#serverMetrics = createServerMetrics(metrics);
    this.#pipelines = SYNCER_TYPES.map((type) => this.#createPipeline(type));
    registerKindMetrics(metrics, this.#pipelines);
    this.#serving = config.Workers > 0 ? this.#serveInWorkers() : this.#serveHere();
    this.#balance = createTyphaBalancer({
      config,
      clock,
      random,
      logger,
      metrics,
      serverMetrics: this.#serverMetrics,
      instance: deps.newEpoch(),
      streams: () => this.#serving.streams(),
      syncerTypes: SYNCER_TYPES.length,
      openServices: deps.openServices ?? (() => Promise.reject(new Error("There is no Kubernetes API"))),
      countNodes: () => this.#nodes.count,
      takesClients: () => !this.#stopping.signal.aborted && health.summary().ready,
    });
    metrics.gaugeFrom(
      { name: "bulrush_typha_certificate_expiry_timestamp_seconds", help: "End of the server certificate; 0: no TLS" },
      () => (this.#serving.certificateExpiresAtMs() ?? 0) / 1000,
    );
    this.#health = new TyphaHealth({
      health,
      clock,
      pipelines: this.#pipelines,
      staleAfterMs: config.StaleAfterSecs * 1000,
      datastoreProblem: () => this.#startProblem ?? this.#datastoreProblem,
      serverProblem: () => this.#serverProblem(),
      serverNotices: () => this.#serving.notices(),
      streams: () => this.#serving.streamCount,
      onReport: () => this.#pipelineMetrics.collect(this.#pipelines.map(({ cache }) => cache)),
    });
  }

  start(): void {
    this.#isStarted = true;
    this.#serving.start();
    this.#balance?.balancer.start();
    void this.#serving.listening.then((address) => {
      this.#health.report();
      this.#listening.resolve(address);
    });
    this.#health.report();
    void this.#openDatastore();
    void this.#serveAdmin();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort(new Error("Typha stops"));
    this.#health.report();
    this.#serving.stopListening();
    await this.#serving.drain();
    await this.#serving.close();
    await this.#balance?.close();
    for (const pipeline of this.#pipelines) await pipeline.stop();
    await this.#driver?.close();
    await this.#admin?.close();
    this.#adminListening.resolve(undefined);
    this.#health.close();
  }

  #serveHere(): Serving {
    const { clock, random, logger } = this.#deps;
    const metrics = this.#serverMetrics;
    return new OwnThread({
      server: {
        settings: this.#settings,
        streams: this.#pipelines.map(({ stream }) => stream),
        clock,
        random,
        defer: (callback) => void setImmediate(callback),
        logger,
        metrics,
        namePeers: () => this.#balance?.balancer.namePeers() ?? [],
      },
      listener: {
        host: this.#config.ServerHost,
        port: syncPort(this.#config),
        tls: syncTlsSettings(this.#config),
        handshakeTimeoutMs: this.#settings.handshakeTimeoutMs,
        clock,
        random,
        logger,
        metrics,
        onTlsReloaded: (material) => this.#admin?.useCertificates(material),
        load: (reserve) => this.#load(reserve),
      },
    });
  }

  #serveInWorkers(): Serving {
    const { clock, random, logger, metrics } = this.#deps;
    return new WorkerPool({
      count: this.#config.Workers,
      settings: this.#settings,
      streams: this.#pipelines.map(({ cache, stream }) => ({ ...stream, cache })),
      host: this.#config.ServerHost,
      port: syncPort(this.#config),
      tls: syncTlsSettings(this.#config),
      clock,
      random,
      yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
      logger,
      metrics,
      serverMetrics: this.#serverMetrics,
      startThread: this.#deps.startThread ?? startThread,
      load: (reserve) => this.#load(reserve),
      peerTargets: () => this.#balance?.balancer.peerTargets() ?? [],
      sentTo: (address) => this.#balance?.balancer.sentTo(address),
      onTlsReloaded: (material) => this.#admin?.useCertificates(material),
    });
  }

  /** What this server tells the others. */
  #load(reserve: string | undefined): string {
    return JSON.stringify(this.#balance?.balancer.load(reserve) ?? null);
  }

  #createPipeline(type: SyncerType): Pipeline {
    const { clock, logger, newEpoch } = this.#deps;
    const { SnapshotCacheMaxBatchSize, ResumeMaxBytes } = this.#config;
    return new Pipeline({
      type,
      clock,
      logger: logger.child({ syncer: type }),
      metrics: this.#pipelineMetrics.cache(type),
      epoch: newEpoch(),
      yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
      clients: () => this.#serving.connectionCount,
      maxBatch: Math.max(1, SnapshotCacheMaxBatchSize),
      retainBytes: ResumeMaxBytes,
      forThreads: this.#config.Workers > 0,
    });
  }

  async #openDatastore(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let writer: DatastoreWriter | undefined;
      try {
        writer = await this.#deps.openWriter?.();
        const start = writer === undefined ? undefined : this.#datastoreStart(writer);
        await start?.mayServe(signal);
        const driver = await this.#deps.openDatastore((problems) => (this.#manifestProblems = problems));
        if (signal.aborted) {
          await driver.close();
          return;
        }
        this.#driver = driver;
        this.#datastoreProblem = undefined;
        const createSource = datastoreSyncer(driver, clock, logger);
        for (const pipeline of this.#pipelines)
          pipeline.start((type, next, observe) =>
            createSource(type, type === "felix" ? this.#nodes.before(next) : next, observe),
          );
        await start?.follow(signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const problem = `The datastore cannot be opened: ${messageOf(error)}`;
        // The same every second is said once.
        if (problem !== this.#datastoreProblem) logger.error("Cannot open the datastore, trying again", { error });
        this.#datastoreProblem = problem;
        await sleep(clock, RETRY_MS, signal).catch(() => {});
      } finally {
        await writer?.close();
      }
    }
  }

  #datastoreStart(writer: DatastoreWriter): DatastoreStart {
    const { clock, logger, newEpoch } = this.#deps;
    return new DatastoreStart({
      mode: this.#config.InitialiseDatastore,
      writer,
      clock,
      logger,
      newGuid: () => newEpoch().replaceAll("-", ""),
      onProblem: (problem) => {
        this.#startProblem = problem;
        this.#health.report();
      },
    });
  }

  async #serveAdmin(): Promise<void> {
    const { AdminHost: host, AdminPort: port } = this.#config;
    if (port === 0) {
      this.#adminListening.resolve(undefined);
      return;
    }
    const { clock, logger } = this.#deps;
    // Its library is loaded only where it is used.
    const { serveAdminApi } = await import("./admin/admin-api.ts");
    while (!this.#stopping.signal.aborted) {
      try {
        const admin = await serveAdminApi({
          host: host === "" ? "0.0.0.0" : host,
          port: port === RANDOM_PORT ? 0 : port,
          tls: syncTlsSettings(this.#config),
          clients: async () => clientsView(await this.#serving.clients(), this.#pipelines),
          caches: async () => {
            const samples = await this.#serving.propagation();
            return cachesView(this.#pipelines, (type) => propagationView(samples.get(type) ?? []));
          },
          compare: (question) => this.#compare(question),
          status: () => this.#statusView(),
          snapshot: (syncer) => this.#snapshot(syncer),
          console: this.#console(),
        });
        if (this.#stopping.signal.aborted) {
          await admin.close();
          return;
        }
        this.#admin = admin;
        logger.info("Serving the admin API", { ...admin.address });
        this.#adminListening.resolve(admin.address);
        return;
      } catch (error) {
        logger.error("Cannot serve the admin API, trying again", { error });
        await sleep(clock, ADMIN_RETRY_MS, this.#stopping.signal).catch(() => {});
      }
    }
  }

  #serverProblem(): string | undefined {
    if (this.#stopping.signal.aborted) return "draining: clients are sent elsewhere";
    return this.#isStarted ? this.#serving.problem() : "not started";
  }

  #compare(question: CompareQuestion): CompareAnswer | undefined {
    const pipeline = this.#pipelines.find(({ type }) => type === question.syncer);
    return pipeline === undefined ? undefined : compareWith(pipeline.cache, question);
  }

  #snapshot(syncer: string): SnapshotView | undefined {
    const cache = this.#pipelines.find(({ type }) => type === syncer)?.cache;
    if (cache === undefined) return undefined;
    const { sequence, status } = cache.head;
    return { epoch: cache.epoch, sequence, status, kvs: must(cache.kvsAt(sequence), "the head") };
  }

  /** A console that cannot be read is said, and missing; the API is served without it. */
  #console(): readonly ConsoleFile[] | undefined {
    const { ConsoleDir } = this.#config;
    if (ConsoleDir === "") return undefined;
    try {
      return readConsole(ConsoleDir);
    } catch (error) {
      this.#deps.logger.error("Cannot read the console: the admin API is served without it", { ConsoleDir, error });
      return undefined;
    }
  }

  #statusView(): StatusView {
    const { live, ready, text } = this.#deps.health.summary();
    const problems = [...this.#manifestProblems, ...this.#pipelines.flatMap((pipeline) => pipeline.problems())];
    const running = (this.#startProblem ?? this.#datastoreProblem) === undefined ? "running" : "starting";
    return {
      name: this.#deps.serverName,
      version: VERSION,
      startedAt: new Date(this.#startedAtMs).toISOString(),
      state: this.#stopping.signal.aborted ? "draining" : running,
      live,
      ready,
      health: text,
      connections: {
        open: this.#serving.connectionCount,
        streaming: this.#serving.streamCount,
        limit: this.#settings.maxConnections,
      },
      balance: this.#balance?.balancer.view() ?? null,
      // Kinds that several streams have are read, and complained about, by each.
      problems: [...new Set(problems.map(problemLine))],
    };
  }
}

function problemLine(problem: Problem): string {
  const { sinceMs } = problem;
  return `${formatProblem(problem)}${sinceMs === undefined ? "" : ` (since ${timeText(sinceMs)})`}`;
}
