import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { systemClock } from "@bulrush/base";
import { openDatastore } from "@bulrush/datastore";
import {
  createMetrics,
  createShutdown,
  HealthAggregator,
  type HttpTlsOptions,
  registerProcessMetrics,
  serveHealth,
  serveMetrics,
  type SignalSource,
} from "@bulrush/service";
import type { TyphaConfig } from "../config/typha-config.ts";
import { createTypha } from "../create-typha.ts";
import { VERSION } from "../version.ts";
import { openEarlyLog } from "./open-log.ts";
import { readSettings, settle } from "./settle.ts";

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
    env: options.env,
    configFile: options.configFile,
    clock,
    early,
    signal: shutdown.signal,
    onTry: (config, problems) => {
      serveHealthOnce(config);
      if (problems !== "") startup.report({ live: true, ready: false, detail: `bad settings: ${problems}` });
    },
  });
  if (settled === undefined) return shutdown.done;

  const { loaded, logger, datastore } = settled;
  const config = loaded.values;
  shutdown.onStop("log", () => logger.flush());
  for (const warning of loaded.warnings) logger.warn("Setting", { ...warning });
  const settings = Object.fromEntries(
    [...loaded.origins].map(([name, { source, text }]) => [name, `${text} (${source})`]),
  );
  logger.info("Starting", { version: VERSION, datastore: datastore.type, settings });

  const metrics = createMetrics();
  registerProcessMetrics(metrics, {
    process: config.PrometheusProcessMetricsEnabled,
    runtime: config.PrometheusGoMetricsEnabled,
  });
  metrics.gaugeFrom(
    { name: "typha_logs_dropped", help: "Log lines dropped as an output was blocked" },
    () => logger.dropped,
  );
  metrics.gaugeFrom({ name: "typha_log_errors", help: "Log lines of level error and above" }, () => logger.errors);
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
  const typha = createTypha(config, {
    clock,
    random: Math.random,
    newEpoch: randomUUID,
    logger,
    metrics,
    health,
    openDatastore: (onProblems) => openDatastore(datastore, { clock, logger, onProblems }),
    serverName: hostname(),
  });
  shutdown.onStop("typha", () => typha.stop());
  typha.start();
  startup.report({ live: true, ready: true, detail: "started" });
  return shutdown.done;
}

/** HTTPS when a key or a certificate is set. */
function metricsTls(config: TyphaConfig): HttpTlsOptions | undefined {
  if (config.PrometheusMetricsKeyFile === "" && config.PrometheusMetricsCertFile === "") return undefined;
  return {
    keyFile: config.PrometheusMetricsKeyFile,
    certFile: config.PrometheusMetricsCertFile,
    caFile: config.PrometheusMetricsCAFile,
    clientAuth: config.PrometheusMetricsClientAuth || "NoClientCert",
  };
}
