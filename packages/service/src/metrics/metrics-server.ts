import type { Clock } from "@bulrush/base";
import { type HttpServerHandle, serveHttp } from "../http/server.ts";
import type { HttpTlsOptions } from "../http/tls.ts";
import type { Logger } from "../log/logger.ts";
import type { Metrics } from "./metrics.ts";

/** What is served. */
export type MetricsPage = Pick<Metrics, "contentType" | "text">;

/** What is served, and where. */
export interface MetricsServerOptions {
  readonly metrics: MetricsPage;
  /** Empty: all addresses. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Absent: plain HTTP. */
  readonly tls?: HttpTlsOptions | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Serves the page of the registry under `/metrics`. */
export function serveMetrics(options: MetricsServerOptions): HttpServerHandle {
  const { logger, metrics } = options;
  return serveHttp({
    name: "metrics",
    host: options.host,
    port: options.port,
    tls: options.tls,
    clock: options.clock,
    logger,
    handler(request, response) {
      if (request.url?.split("?", 1)[0] !== "/metrics") {
        response.writeHead(404, { "content-type": "text/plain" }).end("Try /metrics\n");
        return;
      }
      metrics.text().then(
        (page) => response.writeHead(200, { "content-type": metrics.contentType }).end(page),
        (error: unknown) => {
          logger.error("Cannot make the metrics page", { error });
          response.writeHead(500).end();
        },
      );
    },
  });
}
