import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { systemClock } from "@bulrush/base";
import { keepNurserySmall } from "@bulrush/base/heap";
import { openDatastore, openDatastoreWriter } from "@bulrush/datastore";
import {
  createShutdown,
  HealthAggregator,
  openLog,
  serveHealth,
  settle,
  type SignalSource,
  startMetrics,
  waitForSlowAddresses,
} from "@bulrush/service";
import type { TyphaConfig } from "../config/typha-config.ts";
import { createTypha } from "../create-typha.ts";
import { VERSION } from "../version.ts";
import { writeHeapProfileOnSignal } from "./heap-profile.ts";
import { openEarlyLog, PROGRAM } from "./open-log.ts";
import { datastoreConfig, readSettings, servicesConfig } from "./read-settings.ts";

export interface DaemonOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default /etc/calico/typha.cfg; it may be missing. */
  readonly configFile?: string | undefined;
  /** Default: this process. */
  readonly signals?: SignalSource;
}

/** What stopping takes beside the goodbyes. */
const STOP_EXTRA_MS = 10_000;

/**
 * The life of a Typha process; resolves with its exit code, which is 0 after a signal, however long the goodbyes took.
 * Bad settings and a datastore that is not there never end it: they are said, in the log and in its readiness, and
 * tried again every second.
 *
 * Order: early log, settings, health, log, metrics, Typha; and back. The health server comes as soon as its own
 * settings can be read, so that a probe gets words and not a closed port.
 */
export async function runDaemon(options: DaemonOptions): Promise<number> {
  keepNurserySmall();
  waitForSlowAddresses();
  const clock = systemClock({ keepAlive: true });
  const first = readSettings(options.env, options.configFile).loaded.values;
  const early = openEarlyLog(first);
  const shutdown = createShutdown({
    logger: early,
    clock,
    timeoutMs: Math.max(0, first.ShutdownTimeoutSecs) * 1000 + STOP_EXTRA_MS,
    ...(options.signals !== undefined && { signals: options.signals }),
  });
  const health = new HealthAggregator(clock);
  const startup = health.register("Startup", { live: true, ready: true });
  startup.report({ live: true, ready: false, detail: "reading the settings" });

  let serving = false;
  const serveHealthOnce = (config: TyphaConfig): void => {
    if (serving || !config.HealthEnabled) return;
    serving = true;
    const server = serveHealth({ health, host: config.HealthHost, port: config.HealthPort, clock, logger: early });
    shutdown.onStop("health server", () => server.close());
  };
  const settled = await settle({
    clock,
    logger: early,
    signal: shutdown.signal,
    read: () => readSettings(options.env, options.configFile),
    // The log last: nothing closes it when something after it fails.
    make: (read) => ({
      datastore: datastoreConfig(options.env, read.loaded.values),
      logger: openLog(PROGRAM, read.loaded, early),
    }),
    onTry(read, problems) {
      serveHealthOnce(read.loaded.values);
      if (problems !== "") startup.report({ live: true, ready: false, detail: `bad settings: ${problems}` });
    },
  });
  if (settled === undefined) return shutdown.done;

  const { loaded } = settled.settings;
  const { logger, datastore } = settled.made;
  const config = loaded.values;
  shutdown.onStop("log", () => logger.flush());
  for (const warning of loaded.warnings) logger.warn("Setting", { ...warning });
  const settings = Object.fromEntries(
    [...loaded.origins].map(([name, { source, text }]) => [name, `${text} (${source})`]),
  );
  logger.info("Starting", { version: VERSION, datastore: datastore.type, settings });

  const { signals = process } = options;
  const forgetSignal = writeHeapProfileOnSignal({ path: config.DebugMemoryProfilePath, clock, logger, signals });
  shutdown.onStop("heap profile", forgetSignal);
  const started = startMetrics(config, { clock, logger });
  shutdown.onStop("metrics server", () => started.close());
  const { metrics } = started;
  metrics.gaugeFrom(
    { name: "typha_logs_dropped", help: "Log lines dropped as an output was blocked" },
    () => logger.dropped,
  );
  metrics.gaugeFrom({ name: "typha_log_errors", help: "Log lines of level error and above" }, () => logger.errors);
  const typha = createTypha(config, {
    clock,
    random: Math.random,
    newEpoch: randomUUID,
    logger,
    metrics,
    health,
    openDatastore: (onProblems) => openDatastore(datastore, { clock, logger, onProblems }),
    openWriter: () => openDatastoreWriter(datastore, { clock, logger }),
    openServices: async () => openDatastoreWriter(servicesConfig(options.env, datastore), { clock, logger }),
    serverName: hostname(),
  });
  shutdown.onStop("typha", () => typha.stop());
  typha.start();
  startup.report({ live: true, ready: true, detail: "started" });
  return shutdown.done;
}
