import { readFileSync } from "node:fs";
import { hasCode, messageOf, sleep, systemClock } from "@bulrush/base";
import { startDataplaneWorker } from "@bulrush/dataplane";
import {
  createLogger,
  createMetrics,
  createShutdown,
  HealthAggregator,
  type HttpTlsOptions,
  type LoadedConfig,
  type Logger,
  type LogLevel,
  type LogOutput,
  registerProcessMetrics,
  type RootLogger,
  serveHealth,
  serveMetrics,
  type Shutdown,
  switchableLogger,
} from "@bulrush/service";
import { createAgent } from "./agent.ts";
import { DEFAULT_CONFIG_FILE, type FelixConfig, loadFelixConfig, type LocalSources } from "./config/felix-config.ts";
import type { LogSeverity } from "./config/process-settings.ts";
import { chooseSource } from "./source/choose-source.ts";
import type { SourceFactory } from "./source/source.ts";

const PROGRAM = "bulrush-agent";
const STOP_TIMEOUT_MS = 10_000;
const CONFIG_RETRY_MS = 1000;

export interface DaemonOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default /etc/calico/felix.cfg; it may be missing. */
  readonly configFile?: string | undefined;
}

/**
 * The life of the agent's process; resolves with its exit code: 0 after a signal, 129 for "start me again", 1 when the
 * dataplane ended. Bad settings never end it: it says what is wrong (in the log and in its readiness) and reads them
 * again every second.
 *
 * Order: log, health, settings, metrics, source, graph, dataplane; and back. Health comes first, so that a probe gets
 * words instead of a closed port.
 */
export async function runDaemon(options: DaemonOptions): Promise<number> {
  const clock = systemClock({ keepAlive: true });
  const early = switchableLogger(createLogger({ program: PROGRAM, outputs: [{ to: "stdout", level: "info" }] }));
  const shutdown = createShutdown({ logger: early, clock, timeoutMs: STOP_TIMEOUT_MS });
  const health = new HealthAggregator(clock);
  const startup = health.register("FelixStartup");
  startup.report({ live: true, ready: false, detail: "reading the settings" });

  let serving = false;
  const serveHealthOnce = (config: FelixConfig): void => {
    if (serving || !config.HealthEnabled) return;
    serving = true;
    const server = serveHealth({ health, host: config.HealthHost, port: config.HealthPort, clock, logger: early });
    shutdown.onStop("health server", () => server.close());
  };
  const ready = await settle(options, shutdown, early, (loaded, problems) => {
    serveHealthOnce(loaded.values);
    if (problems !== "") startup.report({ live: true, ready: false, detail: `bad settings: ${problems}` });
  });
  if (ready === undefined) return shutdown.done;

  const { loaded, local, logger, source } = ready;
  const config = loaded.values;
  early.switchTo(logger);
  // Also where the process ends in another way than it should.
  process.once("exit", () => logger.flush());
  for (const warning of loaded.warnings) logger.warn("Setting", { ...warning });
  const settings = Object.fromEntries(
    [...loaded.origins].map(([name, { source: from, text }]) => [name, `${text} (${from})`]),
  );
  logger.info("Starting", { hostname: config.FelixHostname, settings });

  const metrics = createMetrics();
  registerProcessMetrics(metrics, {
    process: config.PrometheusProcessMetricsEnabled,
    runtime: config.PrometheusGoMetricsEnabled,
  });
  if (config.PrometheusMetricsEnabled) {
    const server = serveMetrics({
      metrics,
      host: config.PrometheusMetricsHost,
      port: config.PrometheusMetricsPort,
      tls: metricsTls(config),
      clock,
      logger,
    });
    shutdown.onStop("metrics server", () => server.close());
  }
  const agent = createAgent({
    config,
    local,
    source,
    startDataplane: startDataplaneWorker,
    clock,
    random: Math.random,
    logger,
    health,
    metrics,
    shutdown,
  });
  shutdown.onStop("agent", () => agent.stop());
  agent.start();
  startup.report({ live: true, ready: true, detail: "started" });
  return shutdown.done;
}

/** Everything that settings decide, once they are good. */
interface Settled {
  readonly loaded: LoadedConfig<FelixConfig>;
  readonly local: LocalSources;
  readonly logger: RootLogger;
  readonly source: SourceFactory;
}

/** Reads the settings until they are good; undefined when the process is stopped before. */
async function settle(
  options: DaemonOptions,
  shutdown: Shutdown,
  early: Logger,
  onTry: (loaded: LoadedConfig<FelixConfig>, problems: string) => void,
): Promise<Settled | undefined> {
  const clock = systemClock({ keepAlive: true });
  let said = "";
  while (!shutdown.signal.aborted) {
    const { local, fileProblem } = readLocal(options);
    const loaded = loadFelixConfig(local);
    const problems = [...fileProblem, ...loaded.errors.map(({ message }) => message)];
    let settled: Settled | undefined;
    if (problems.length === 0) {
      try {
        settled = {
          loaded,
          local,
          logger: openLog(loaded, early),
          source: chooseSource({ config: loaded.values, env: options.env, clock, random: Math.random, logger: early }),
        };
      } catch (error) {
        problems.push(messageOf(error));
      }
    }
    const text = problems.join("; ");
    onTry(loaded, text);
    if (settled !== undefined) return settled;
    // The same every second is said once.
    if (text !== said) early.error("Bad settings, reading them again every second", { problems });
    said = text;
    await sleep(clock, CONFIG_RETRY_MS, shutdown.signal).catch(() => {});
  }
  return undefined;
}

function readLocal(options: DaemonOptions): { local: LocalSources; fileProblem: string[] } {
  const fileName = options.configFile ?? DEFAULT_CONFIG_FILE;
  try {
    return { local: { env: options.env, fileText: readFileSync(fileName, "utf8"), fileName }, fileProblem: [] };
  } catch (error) {
    const missing = hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR");
    const fileProblem = missing ? [] : [`Cannot read "${fileName}": ${messageOf(error)}`];
    return { local: { env: options.env, fileText: undefined, fileName }, fileProblem };
  }
}

const LEVELS: Readonly<Record<Exclude<LogSeverity, "">, LogLevel>> = {
  DEBUG: "debug",
  INFO: "info",
  WARNING: "warn",
  ERROR: "error",
  CRITICAL: "fatal",
};

/** Throws SERVICE_LOG_FILE when a file that was asked for does not open; the default one is then left out. */
function openLog(loaded: LoadedConfig<FelixConfig>, early: Logger): RootLogger {
  const { LogFilePath, LogSeverityFile, LogSeverityScreen, DebugDisableLogDropping } = loaded.values;
  const screen: LogOutput[] = LogSeverityScreen === "" ? [] : [{ to: "stdout", level: LEVELS[LogSeverityScreen] }];
  const file: LogOutput[] =
    LogSeverityFile === "" || LogFilePath === "" ? [] : [{ to: { file: LogFilePath }, level: LEVELS[LogSeverityFile] }];
  const make = (outputs: readonly LogOutput[]): RootLogger =>
    createLogger({ program: PROGRAM, outputs, dropWhenBlocked: !DebugDisableLogDropping });
  try {
    return make([...screen, ...file]);
  } catch (error) {
    if (loaded.origins.has("LogFilePath")) throw error;
    early.info("No log file: the default one cannot be opened", { path: LogFilePath });
    return make(screen);
  }
}

/** HTTPS when a key or a certificate is set. */
function metricsTls(config: FelixConfig): HttpTlsOptions | undefined {
  if (config.PrometheusMetricsKeyFile === "" && config.PrometheusMetricsCertFile === "") return undefined;
  return {
    keyFile: config.PrometheusMetricsKeyFile,
    certFile: config.PrometheusMetricsCertFile,
    caFile: config.PrometheusMetricsCAFile,
    clientAuth: config.PrometheusMetricsClientAuth || "NoClientCert",
  };
}
