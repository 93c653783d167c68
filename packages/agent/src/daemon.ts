import { systemClock } from "@bulrush/base";
import { startDataplaneWorker } from "@bulrush/dataplane";
import {
  createLogger,
  createShutdown,
  HealthAggregator,
  type LoadedConfig,
  openLog,
  readSettingsFile,
  serveHealth,
  settle,
  startMetrics,
  switchableLogger,
  type TriedSettings,
} from "@bulrush/service";
import { createAgent } from "./agent.ts";
import { DEFAULT_CONFIG_FILE, type FelixConfig, loadFelixConfig, type LocalSources } from "./config/felix-config.ts";
import { registerRuleMetrics } from "./report/rule-metrics.ts";
import { chooseSource } from "./source/choose-source.ts";

const PROGRAM = "bulrush-agent";
const STOP_TIMEOUT_MS = 10_000;

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
  const settled = await settle({
    clock,
    logger: early,
    signal: shutdown.signal,
    read: () => readSettings(options),
    // The log last: nothing closes it when something after it fails.
    make: ({ loaded }) => ({
      source: chooseSource({ config: loaded.values, env: options.env, clock, random: Math.random, logger: early }),
      logger: openLog(PROGRAM, loaded, early),
    }),
    onTry({ loaded }, problems) {
      serveHealthOnce(loaded.values);
      if (problems !== "") startup.report({ live: true, ready: false, detail: `bad settings: ${problems}` });
    },
  });
  if (settled === undefined) return shutdown.done;

  const { loaded, local } = settled.settings;
  const { logger, source } = settled.made;
  const config = loaded.values;
  early.switchTo(logger);
  // Also where the process ends in another way than it should.
  process.once("exit", () => logger.flush());
  for (const warning of loaded.warnings) logger.warn("Setting", { ...warning });
  const settings = Object.fromEntries(
    [...loaded.origins].map(([name, { source: from, text }]) => [name, `${text} (${from})`]),
  );
  logger.info("Starting", { hostname: config.FelixHostname, settings });

  const started = startMetrics(config, { clock, logger });
  shutdown.onStop("metrics server", () => started.close());
  shutdown.onStop("rule counters", registerRuleMetrics(started.metrics, logger));
  const agent = createAgent({
    config,
    local,
    source,
    startDataplane: startDataplaneWorker,
    clock,
    random: Math.random,
    logger,
    health,
    metrics: started.metrics,
    shutdown,
  });
  shutdown.onStop("agent", () => agent.stop());
  agent.start();
  startup.report({ live: true, ready: true, detail: "started" });
  return shutdown.done;
}

interface ReadSettings extends TriedSettings {
  readonly local: LocalSources;
  readonly loaded: LoadedConfig<FelixConfig>;
}

function readSettings(options: DaemonOptions): ReadSettings {
  const fileName = options.configFile ?? DEFAULT_CONFIG_FILE;
  const file = readSettingsFile(fileName);
  const local: LocalSources = { env: options.env, fileText: file.text, fileName };
  const loaded = loadFelixConfig(local);
  return { local, loaded, problems: [...file.problems, ...loaded.errors.map(({ message }) => message)] };
}
