import { Backoff, type Clock, parseDurationNs, sleep } from "@bulrush/base";
import type { DataplaneEvents, DataplaneHandle, DataplaneStatus, DataplaneWorkerOptions } from "@bulrush/dataplane";
import { createValidationFilter, type Update } from "@bulrush/model";
import type { HealthAggregator, Logger, Metrics, RootLogger, Shutdown } from "@bulrush/service";
import { restartNeededBy } from "./config/config-change.ts";
import { type FelixConfig, loadFelixConfig, type LocalSources } from "./config/felix-config.ts";
import { encapsulationChanges, layersOf, type StartConfig, startConfig } from "./config/start-config.ts";
import { CalcDriver, type RunParts } from "./pipeline/calc-driver.ts";
import { AgentHealth } from "./report/agent-health.ts";
import { registerAgentMetrics } from "./report/agent-metrics.ts";
import type { SourceFactory } from "./source/source.ts";

/** Upstream's exit code for "start me again with other settings". */
export const EXIT_RESTART = 129;

export interface AgentOptions {
  /** The local settings: those that the datastore may add to come later. */
  readonly config: FelixConfig;
  /** Where they came from; read again when the datastore's settings are known. */
  readonly local: LocalSources;
  readonly source: SourceFactory;
  readonly startDataplane: (options: DataplaneWorkerOptions, events: DataplaneEvents) => Promise<DataplaneHandle>;
  readonly clock: Clock;
  /** Numbers in [0, 1), for jitter. */
  readonly random: () => number;
  readonly logger: Logger & Partial<Pick<RootLogger, "dropped" | "errors">>;
  readonly health: HealthAggregator;
  readonly metrics: Metrics;
  readonly shutdown: Pick<Shutdown, "request" | "signal">;
}

export interface Agent {
  start(): void;
  /** The kernel stays as it is. */
  stop(): Promise<void>;
}

/**
 * Puts the host agent together.
 *
 * ```
 *  Typha ── sync client (dedupe) ─┐
 *                                 ├─> source ─> CalcDriver: collect until in-sync
 *  datastore ── own syncer ───────┘                 │
 *                                                   v  settings of environment, file and datastore; pools
 *                                              startConfig ──> startDataplane (worker thread) ─────────┐
 *                                                   │                                                 │
 *                                                   v                                                 v
 *                                         validation filter ─> CalcGraph ── messages, marks ──> dataplane ─> kernel
 *                                                                                                 │
 *                                  source.ack <────────── sequence applied to the kernel ─────────┘
 * ```
 *
 * The loss of the source changes nothing; the dataplane goes on with what it has. What the graph and the dataplane were
 * started with does not change while they run: other settings end the process with {@link EXIT_RESTART}.
 */
export function createAgent(options: AgentOptions): Agent {
  const { config, clock, logger, shutdown } = options;
  let start: StartConfig | undefined;
  let dataplane: DataplaneHandle | undefined;
  let dataplaneStatus: DataplaneStatus | undefined;
  let waitingFor = "waiting for the datastore to be in sync";

  const metrics = registerAgentMetrics(options.metrics, config.FelixHostname, {
    dataplane: () => dataplaneStatus?.counters,
    graph: () => driver.stats,
    connected: () => source.report().connected,
    logErrors: () => logger.errors ?? 0,
    logDropped: () => logger.dropped ?? 0,
  });

  const driver = new CalcDriver({
    hostname: config.FelixHostname,
    clock,
    begin: (contents) => begin(contents),
    events: {
      onProcessed: (updates, tookMs) => metrics.onProcessed(updates, tookMs),
      onFlushed: (messages) => metrics.onFlushed(messages),
      onStatus(status) {
        metrics.onStatus(status);
        logger.info("Datastore status", { status });
        health.onGraphChange();
      },
      onRunning: () => health.onGraphChange(),
      onConfig(message) {
        if (start === undefined) return;
        const loaded = loadFelixConfig(options.local, layersOf(message));
        saySettings(loaded);
        options.health.overrideTimeouts(timeoutsMs(loaded.values));
        const changed = restartNeededBy(start.loaded, loaded);
        if (changed.length > 0) restart("config changed", { settings: changed });
      },
      onEncapsulation(message) {
        if (start === undefined) return;
        const fields = encapsulationChanges(start.encapsulation, message);
        if (fields.length > 0) restart("encapsulation changed", { fields });
      },
      onDatastoreNotReady() {
        logger.warn("The datastore says that it is not ready any more");
        shutdown.request({ reason: "datastore not ready", exitCode: 1 });
      },
    },
  });
  const source = options.source(driver);
  const health = new AgentHealth({
    health: options.health,
    clock,
    watchdogMs: config.DataplaneWatchdogTimeout * 1000,
    graph() {
      const { detail } = source.report();
      const ready = driver.running && driver.status === "in-sync";
      if (driver.running) return { ready, detail: `${driver.status}, ${detail}` };
      return { ready, detail: `${waitingFor}, ${driver.collected} keys so far, ${detail}` };
    },
  });

  const restart = (reason: string, facts: Readonly<Record<string, unknown>>): void => {
    logger.info("Restart needed", { reason, ...facts });
    shutdown.request({ reason, exitCode: EXIT_RESTART });
  };

  /** What is wrong with the settings, each once for as long as it is so. */
  let said: ReadonlySet<string> = new Set();
  const saySettings = ({ warnings, errors }: StartConfig["loaded"]): void => {
    for (const warning of warnings) if (!said.has(warning.message)) logger.warn("Setting", { ...warning });
    // Errors of the local settings have kept the process from coming this far. One of the datastore must not keep a host
    // without policy: the default stands in for it.
    for (const error of errors) if (!said.has(error.message)) logger.error("Setting", { ...error });
    said = new Set([...warnings, ...errors].map(({ message }) => message));
  };

  const begin = async (contents: Iterable<Update>): Promise<RunParts | undefined> => {
    start = startConfig(contents, config.FelixHostname, options.local);
    if (start === undefined) {
      waitingFor = "the datastore says that it is not ready";
      logger.warn("The datastore says that it is not ready: waiting");
      health.onGraphChange();
      return undefined;
    }
    const { loaded, graph, texts } = start;
    saySettings(loaded);
    options.health.overrideTimeouts(timeoutsMs(loaded.values));
    waitingFor = "starting the dataplane";
    const handle = await dataplaneWith(texts);
    if (handle === undefined) return undefined;
    dataplane = handle;
    health.watch(handle);
    return { graph, dataplane: handle, filter: (next) => validated(next, loaded.values) };
  };

  /** Tries until it starts; undefined when the agent is stopped before. */
  const dataplaneWith = async (texts: ReadonlyMap<string, string>): Promise<DataplaneHandle | undefined> => {
    const backoff = new Backoff({ initialMs: 1000, maxMs: 30_000 }, options.random);
    while (!shutdown.signal.aborted) {
      try {
        return await options.startDataplane(
          { settings: new Map([...texts, ["FelixHostname", config.FelixHostname]]) },
          dataplaneEvents,
        );
      } catch (error) {
        logger.error("Cannot start the dataplane, will try again", { error });
        waitingFor = "the dataplane does not start";
        health.onGraphChange();
      }
      await sleep(clock, backoff.nextMs(), shutdown.signal).catch(() => {});
    }
    return undefined;
  };

  const dataplaneLogger = logger.child({ part: "dataplane" });
  const dataplaneEvents: DataplaneEvents = {
    onStatus(status) {
      if (status.phase !== dataplaneStatus?.phase)
        dataplaneLogger.info("Dataplane", { phase: status.phase, reason: status.reason });
      dataplaneStatus = status;
      health.onDataplaneStatus(status);
    },
    onApplied: (sequence) => source.ack(sequence),
    onMessage(message) {
      if (message.msg === "DataplaneInSync") dataplaneLogger.info("The kernel has the whole policy");
    },
    onLog: (level, message, fields) => dataplaneLogger[level](message, fields),
    onFatal(error) {
      dataplaneLogger.fatal("The dataplane has ended", { error });
      shutdown.request({ reason: "dataplane ended", exitCode: 1 });
    },
  };

  const validated = (next: CalcDriverInput, values: FelixConfig): CalcDriverInput =>
    createValidationFilter(
      next,
      (update, issues, outcome) => {
        metrics.onInvalid();
        logger.warn("Invalid update", { path: update.path, issues, outcome });
      },
      { workloadSourceSpoofing: values.WorkloadSourceSpoofing === "Any" ? "Any" : "Disabled" },
    );

  return {
    start: () => void source.start(),
    async stop() {
      driver.stop();
      await source.stop();
      await dataplane?.stop();
      health.stop();
    },
  };
}

type CalcDriverInput = Parameters<RunParts["filter"]>[0];

/** Durations (`1m30s`) or seconds (`90`). Bad ones are left out: a time-out that cannot be read must not become none. */
function timeoutsMs(values: FelixConfig): ReadonlyMap<string, number> {
  const entries = [...values.HealthTimeoutOverrides].map(
    ([name, text]) => [name, (parseDurationNs(/^[0-9.]+$/.test(text) ? `${text}s` : text) ?? 0) / 1e6] as const,
  );
  return new Map(entries.filter(([, milliseconds]) => milliseconds > 0));
}
