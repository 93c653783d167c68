import type { Clock } from "@bulrush/base";
import { liveServer } from "../http/live-server.ts";
import type { ClientAuthMode, HttpTlsOptions } from "../http/tls.ts";
import type { Logger } from "../log/logger.ts";
import type { Metrics } from "./metrics.ts";
import { type MetricsPage, serveMetrics } from "./metrics-server.ts";
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

/** The registry of a process, and its server where the settings ask for one. The caller closes it. */
export interface StartedMetrics {
  /** Where the parts of the process register theirs. */
  readonly metrics: Metrics;
  /** What is served: those, and what the process says of itself. */
  readonly page: MetricsPage;
  /** Takes up other settings. */
  update(settings: MetricsSettings): void;
  /** Ends the server, if the settings ask for one. */
  close(): Promise<void>;
}

/** The metrics of a process as its settings have them, served if they say so. */
export function startMetrics(
  settings: MetricsSettings,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): StartedMetrics {
  const metrics = createMetrics();
  let own: Metrics = createMetrics();
  const page: MetricsPage = {
    contentType: metrics.contentType,
    text: async () => `${await metrics.text()}${await own.text()}`,
  };
  const server = liveServer<MetricsSettings>((wanted) => {
    if (!wanted.PrometheusMetricsEnabled) return undefined;
    const { PrometheusMetricsHost: host, PrometheusMetricsPort: port } = wanted;
    return serveMetrics({ metrics: page, host, port, tls: tlsOf(wanted), clock, logger });
  });
  const update = (wanted: MetricsSettings): void => {
    own = createMetrics();
    registerProcessMetrics(own, {
      process: wanted.PrometheusProcessMetricsEnabled,
      runtime: wanted.PrometheusGoMetricsEnabled,
    });
    server.update(serverSettings(wanted));
  };
  update(settings);
  return { metrics, page, update, close: () => server.close() };
}

function serverSettings(settings: MetricsSettings): MetricsSettings {
  return {
    PrometheusMetricsEnabled: settings.PrometheusMetricsEnabled,
    PrometheusMetricsHost: settings.PrometheusMetricsHost,
    PrometheusMetricsPort: settings.PrometheusMetricsPort,
    PrometheusMetricsCertFile: settings.PrometheusMetricsCertFile,
    PrometheusMetricsKeyFile: settings.PrometheusMetricsKeyFile,
    PrometheusMetricsCAFile: settings.PrometheusMetricsCAFile,
    PrometheusMetricsClientAuth: settings.PrometheusMetricsClientAuth,
    PrometheusGoMetricsEnabled: true,
    PrometheusProcessMetricsEnabled: true,
  };
}

/** HTTPS when a key or a certificate is set. */
function tlsOf(settings: MetricsSettings): HttpTlsOptions | undefined {
  const { PrometheusMetricsKeyFile: keyFile, PrometheusMetricsCertFile: certFile } = settings;
  if (keyFile === "" && certFile === "") return undefined;
  const clientAuth = settings.PrometheusMetricsClientAuth || "NoClientCert";
  return { keyFile, certFile, caFile: settings.PrometheusMetricsCAFile, clientAuth };
}
