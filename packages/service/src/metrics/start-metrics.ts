import type { Clock } from "@bulrush/base";
import type { ClientAuthMode, HttpTlsOptions } from "../http/tls.ts";
import type { Logger } from "../log/logger.ts";
import type { Metrics } from "./metrics.ts";
import { serveMetrics } from "./metrics-server.ts";
import { registerProcessMetrics } from "./process-metrics.ts";
import { createMetrics } from "./prometheus.ts";

/** What the settings of a process say of its metrics. */
export interface MetricsSettings {
  readonly PrometheusMetricsEnabled: boolean;
  readonly PrometheusMetricsHost: string;
  readonly PrometheusMetricsPort: number;
  readonly PrometheusMetricsCertFile: string;
  readonly PrometheusMetricsKeyFile: string;
  readonly PrometheusMetricsCAFile: string;
  readonly PrometheusMetricsClientAuth: ClientAuthMode | "";
  readonly PrometheusGoMetricsEnabled: boolean;
  readonly PrometheusProcessMetricsEnabled: boolean;
}

export interface StartedMetrics {
  readonly metrics: Metrics;
  /** Ends the server, if the settings ask for one. */
  close(): Promise<void>;
}

/** The metrics of a process as its settings have them, served if they say so. */
export function startMetrics(
  settings: MetricsSettings,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): StartedMetrics {
  const metrics = createMetrics();
  registerProcessMetrics(metrics, {
    process: settings.PrometheusProcessMetricsEnabled,
    runtime: settings.PrometheusGoMetricsEnabled,
  });
  if (!settings.PrometheusMetricsEnabled) return { metrics, close: () => Promise.resolve() };
  const host = settings.PrometheusMetricsHost;
  const server = serveMetrics({
    metrics,
    host,
    port: settings.PrometheusMetricsPort,
    tls: tlsOf(settings),
    clock,
    logger,
  });
  return { metrics, close: () => server.close() };
}

/** HTTPS when a key or a certificate is set. */
function tlsOf(settings: MetricsSettings): HttpTlsOptions | undefined {
  const { PrometheusMetricsKeyFile: keyFile, PrometheusMetricsCertFile: certFile } = settings;
  if (keyFile === "" && certFile === "") return undefined;
  const clientAuth = settings.PrometheusMetricsClientAuth || "NoClientCert";
  return { keyFile, certFile, caFile: settings.PrometheusMetricsCAFile, clientAuth };
}
