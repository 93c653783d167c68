import { Backoff, type CancelTimer, type Clock, messageOf, sleep } from "@bulrush/base";
import type { FlowText } from "@bulrush/calc";
import type {
  DataplaneEvents,
  DataplaneHandle,
  DataplaneStatus,
  DataplaneWorkerOptions,
  FromDataplane,
  HostReport,
  StagedConnections,
  TrackedFlow,
} from "@bulrush/dataplane";
import { createValidationFilter, type Update } from "@bulrush/model";
import type { HealthAggregator, LiveLog, LoadedConfig, Logger, Metrics, Shutdown } from "@bulrush/service";
import { changedSettings, changeTakenBy, withLastGood } from "./config/config-change.ts";
import { dataplaneTexts, type FelixConfig, loadFelixConfig, type LocalSources } from "./config/felix-config.ts";
import { encapsulationChanges, layersOf, type StartConfig, startConfig } from "./config/start-config.ts";
import { healthTimeoutsMs } from "./config/health-timeouts.ts";
import { CalcDriver, type RunContents, type RunParts } from "./pipeline/calc-driver.ts";
import { type HostExplanation, LiveDataplane } from "./pipeline/live-dataplane.ts";
import { StartCollector } from "./pipeline/start-collector.ts";
import { AgentHealth } from "./report/agent-health.ts";
import { registerAgentMetrics } from "./report/agent-metrics.ts";
import type { Held, SourceFactory } from "./source/source.ts";
import type { StateStore } from "./state/state-store.ts";
import { stateTee } from "./state/state-tee.ts";

/** Upstream's exit code for "start me again with other settings". */
export const EXIT_RESTART = 129;
/** How long a source is waited for where the kernel has rules already, before what was saved is taken. */
const HELD_GRACE_MS = 10_000;

/** What the agent has of its process. What is handed in stays the caller's, but for `state`. */
export interface AgentOptions {
  /** The local settings: those that the datastore may add to come later. */
  readonly config: FelixConfig;
  /** Where they came from; read again when the datastore's settings are known. */
  readonly local: LocalSources;
  /** Called once, at the start. The agent stops what it gives. */
  readonly source: SourceFactory;
  /**
   * Called when the settings of the datastore are known, after a failure again, and anew for settings that it has to take
   * up. The agent stops what it gives.
   */
  readonly startDataplane: (options: DataplaneWorkerOptions, events: DataplaneEvents) => Promise<DataplaneHandle>;
  readonly clock: Clock;
  /** Numbers in [0, 1), for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  /** What the log counts. */
  readonly log?: Pick<LiveLog, "dropped" | "errors">;
  readonly health: HealthAggregator;
  readonly metrics: Metrics;
  /**
   * Asked with {@link EXIT_RESTART} where settings call for a new start, and with 1 where the dataplane ended or the
   * datastore is not ready.
   */
  readonly shutdown: Pick<Shutdown, "request" | "signal">;
  /** Where what is held is saved, and found at the next start. Absent: nowhere. The agent closes it. */
  readonly state?: StateStore | undefined;
  /** Whether the kernel has rules of ours, from before this start. Default: never asked, as if it had. */
  readonly hasRules?: () => boolean;
  /** The process's own part of the settings: called at the first in-sync, and whenever they change. */
  readonly onSettings?: (loaded: LoadedConfig<FelixConfig>) => void;
  /** Hear what the graph hears, after the first in-sync everything at once. */
  readonly listeners?: readonly AgentListener[];
}

/** Parts of the process beside the graph. */
export interface AgentListener {
  onUpdates?(updates: readonly Update[]): void;
  /** Everything was told once. */
  onInSync?(): void;
  /** The settings in force, at the first in-sync and whenever they change. */
  onSettings?(values: FelixConfig): void;
  /** What the dataplane says of endpoints, and that it is in sync. */
  onDataplane?(message: FromDataplane): void;
}

/** One host's agent: source, graph, dataplane and what reports on them. Started once, stopped once, by its owner. */
export interface Agent {
  /** Resolves when what was saved is read and the source was started. */
  start(): Promise<void>;
  /** The kernel stays as it is. */
  stop(): Promise<void>;
  /** What this host guards; undefined before the dataplane was started. */
  report(): HostReport | undefined;
  /** Judges a flow by what this host was told; undefined before the dataplane was started. */
  explain(flow: FlowText): HostExplanation | undefined;
  /** What staged policies would change of these connections; undefined before the dataplane was started. */
  staged(tracked: Iterable<TrackedFlow>): Promise<StagedConnections> | undefined;
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
 * The loss of the source changes nothing; the dataplane goes on with what it has. A start takes what an earlier one saved
 * (StateStore): at once where the kernel has no rules, else when no source is there for a while.
 *
 * Other settings are taken up while it runs (`changeTakenBy`). Where that needs another process, or another graph and
 * nothing is saved to feed it with, the process ends with {@link EXIT_RESTART} instead.
 */
export function createAgent(options: AgentOptions): Agent {
  const { config, clock, listeners = [], logger, shutdown } = options;
  let start: StartConfig | undefined;
  let dataplane: LiveDataplane | undefined;
  let dataplaneStatus: DataplaneStatus | undefined;
  let waitingFor = "waiting for the datastore to be in sync";
  /** Since when what is enforced is what was saved: Unix ms; undefined once a source was in sync. */
  let heldAtMs: number | undefined;
  let cancelGrace: CancelTimer = () => {};

  const metrics = registerAgentMetrics(options.metrics, config.FelixHostname, {
    dataplane: () => dataplaneStatus?.counters,
    graph: () => driver.stats,
    local: () => dataplane?.sizes(),
    state: () => options.state?.report(),
    connected: () => source.report().connected,
    logErrors: () => options.log?.errors ?? 0,
    logDropped: () => options.log?.dropped ?? 0,
  });

  const driver = new CalcDriver({
    hostname: config.FelixHostname,
    clock,
    begin: (contents) => begin(contents),
    events: {
      onProcessed(updates, tookMs) {
        metrics.onProcessed(updates, tookMs);
        for (const listener of listeners) listener.onUpdates?.(updates);
      },
      onFlushed: (messages) => metrics.onFlushed(messages),
      onStatus(status) {
        metrics.onStatus(status);
        if (status === "in-sync") heldAtMs = undefined;
        logger.info("Datastore status", { status });
        health.onGraphChange();
      },
      onRunning() {
        completeSaving();
        for (const listener of listeners) listener.onInSync?.();
        health.onGraphChange();
      },
      onConfig(message) {
        if (start !== undefined) void inTurn(() => takeUp(loadFelixConfig(options.local, layersOf(message))));
      },
      onEncapsulation(message) {
        if (start === undefined) return;
        const fields = encapsulationChanges(start.encapsulation, message);
        if (fields.length > 0) void inTurn(() => rebuild("encapsulation changed", { fields }));
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
    graph() {
      const { detail } = source.report();
      const ready = driver.running && driver.status === "in-sync";
      if (driver.running && heldAtMs !== undefined) {
        const since = new Date(heldAtMs).toISOString();
        return { ready: false, detail: `enforcing what was saved at ${since}, ${detail}` };
      }
      if (driver.running) return { ready, detail: `${driver.status}, ${detail}` };
      return { ready, detail: `${waitingFor}, ${driver.collected} keys so far, ${detail}` };
    },
  });

  let completeSaving = (): void => {};

  /** What is wrong with the settings, each once for as long as it is so. */
  let said: ReadonlySet<string> = new Set();
  const saySettings = ({ warnings, errors }: StartConfig["loaded"]): void => {
    for (const warning of warnings) if (!said.has(warning.message)) logger.warn("Setting", { ...warning });
    // Errors of the local settings have kept the process from coming this far. One of the datastore must not keep a host
    // without policy: the default stands in for it.
    for (const error of errors) if (!said.has(error.message)) logger.error("Setting", { ...error });
    said = new Set([...warnings, ...errors].map(({ message }) => message));
  };

  const begin = async ({ updates, isAsHeld }: RunContents): Promise<RunParts | undefined> => {
    const next = startConfig(updates, config.FelixHostname, options.local);
    if (next === undefined) {
      waitingFor = "the datastore says that it is not ready";
      logger.warn("The datastore says that it is not ready: waiting");
      health.onGraphChange();
      return undefined;
    }
    const loaded = start === undefined ? next.loaded : withLastGood(start.loaded, next.loaded);
    const settings = start === undefined ? [] : changedSettings(start.loaded, loaded);
    if (settings.some((name) => changeTakenBy(name) === "restart")) {
      // Another graph is made for another reason, and what is saved has this change already.
      restart("config changed", { settings: described(loaded, settings) });
      return undefined;
    }
    start = { ...next, loaded, texts: dataplaneTexts(loaded) };
    saySettings(loaded);
    tellSettings(loaded);
    waitingFor = "starting the dataplane";
    const handle = await dataplaneWith(start.texts);
    if (handle === undefined) return undefined;
    dataplane = handle;
    health.watch(handle);
    const { graph } = start;
    if (options.state === undefined)
      return { graph, dataplane: handle, filter: (graphInput) => validated(graphInput, loaded.values) };
    const tee = stateTee(options.state, isAsHeld);
    completeSaving = () => tee.complete();
    return {
      graph,
      dataplane: handle,
      filter: (graphInput) => validated(tee.wrap(graphInput), loaded.values),
      whenFed: () => tee.whenSaved(),
    };
  };

  /** Settings as they were read now: whatever differs from those in force is taken up. */
  const takeUp = async (read: LoadedConfig<FelixConfig>): Promise<void> => {
    if (start === undefined || shutdown.signal.aborted) return;
    saySettings(read);
    const loaded = withLastGood(start.loaded, read);
    const settings = changedSettings(start.loaded, loaded);
    if (settings.length === 0) return;
    const by = new Set(settings.map(changeTakenBy));
    if (by.has("restart")) {
      restart("config changed", { settings: described(loaded, settings) });
      return;
    }
    if (by.has("graph")) {
      await rebuild("config changed", { settings: described(loaded, settings) });
      return;
    }
    start = { ...start, loaded, texts: dataplaneTexts(loaded) };
    tellSettings(loaded);
    if (by.has("dataplane")) await reconfigure(start.texts);
    logger.info("Settings have changed", { settings: described(loaded, settings) });
  };

  const reconfigure = async (texts: ReadonlyMap<string, string>): Promise<void> => {
    const next = dataplane;
    if (next === undefined) return;
    await untilDone("Cannot start a dataplane with other settings, will try again", () =>
      next.reconfigure(withHostname(texts)),
    );
  };

  /** Another graph and dataplane, with the settings of now, out of what is saved; the end of the process without that. */
  const rebuild = async (reason: string, facts: Readonly<Record<string, unknown>>): Promise<void> => {
    const { state } = options;
    if (shutdown.signal.aborted) return;
    const done =
      state !== undefined && state.report().saving && (await driver.rebuild((take) => state.readAgain(take)));
    if (shutdown.signal.aborted) return;
    if (done) logger.info("The graph was made anew", { reason, ...facts });
    else restart(reason, facts);
  };

  const restart = (reason: string, facts: Readonly<Record<string, unknown>>): void => {
    logger.info("Restart needed", { reason, ...facts });
    shutdown.request({ reason, exitCode: EXIT_RESTART });
  };

  const tellSettings = (loaded: LoadedConfig<FelixConfig>): void => {
    options.health.overrideTimeouts(healthTimeoutsMs(loaded.values));
    options.onSettings?.(loaded);
    for (const listener of listeners) listener.onSettings?.(loaded.values);
  };

  /** Changes of settings, one after the other. */
  let turn: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    turn = turn.then(work).catch((error: unknown) => logger.error("Take up settings", { error: messageOf(error) }));
    return turn;
  };

  const withHostname = (texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
    new Map([...texts, ["FelixHostname", config.FelixHostname]]);

  /** Tries until it starts; undefined when the agent is stopped before. */
  const dataplaneWith = (texts: ReadonlyMap<string, string>): Promise<LiveDataplane | undefined> =>
    untilDone("Cannot start the dataplane, will try again", async () => {
      if (dataplane === undefined)
        return LiveDataplane.start(
          (settings, events) => options.startDataplane({ settings }, events),
          withHostname(texts),
          dataplaneEvents,
        );
      await dataplane.renew(withHostname(texts));
      return dataplane;
    });

  const untilDone = async <T>(failure: string, work: () => Promise<T>): Promise<T | undefined> => {
    const backoff = new Backoff({ initialMs: 1000, maxMs: 30_000 }, options.random);
    while (!shutdown.signal.aborted) {
      try {
        return await work();
      } catch (error) {
        logger.error(failure, { error });
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
      for (const listener of listeners) listener.onDataplane?.(message);
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

  /** What an earlier start saved, if it is of use. */
  const restore = async (): Promise<Held | undefined> => {
    const { state } = options;
    const collector = new StartCollector();
    const found = await state?.read((updates) => collector.add(updates));
    if (state === undefined || found === undefined) return undefined;
    const held = { updates: [...collector.values()], atMs: found.atMs };
    await state.resume();
    driver.hold(held.updates);
    heldAtMs = held.atMs;
    return held;
  };

  return {
    async start() {
      const held = await restore();
      if (held !== undefined) {
        const isCold = options.hasRules?.() === false;
        logger.info("There is a saved state", { savedAt: new Date(held.atMs), keys: held.updates.length, isCold });
        if (isCold) void driver.beginFromHeld();
        else cancelGrace = clock.after(HELD_GRACE_MS, () => void driver.beginFromHeld());
      }
      void source.start(held);
    },
    async stop() {
      cancelGrace();
      driver.stop();
      await source.stop();
      await dataplane?.stop();
      await options.state?.close();
      health.stop();
    },
    report: () => dataplane?.report(),
    staged: (tracked) => dataplane?.staged(tracked),
    explain: (flow) => dataplane?.explain(flow, (id) => driver.describeIpSet(id)),
  };
}

/** What these settings say, and where. */
function described({ origins }: LoadedConfig<FelixConfig>, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.map((name) => {
      const origin = origins.get(name);
      return [name, origin === undefined ? "(default)" : `${origin.text} (${origin.source})`];
    }),
  );
}

type CalcDriverInput = Parameters<RunParts["filter"]>[0];
