import type { Clock } from "@bulrush/base";
import { type HttpServerHandle, serveHttp } from "../http/server.ts";
import type { Logger } from "../log/logger.ts";
import type { HealthAggregator } from "./aggregator.ts";

/** The aggregator stays the caller's. */
export interface HealthServerOptions {
  readonly health: HealthAggregator;
  /** Empty: all addresses. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Serves GET and HEAD of `/liveness` and `/readiness`: 200 with the table, 204 when there is nothing to show, 503 with
 * the table when it is not so. A port that is taken is tried again every second.
 */
export function serveHealth(options: HealthServerOptions): HttpServerHandle {
  return serveHttp({
    name: "health",
    host: options.host,
    port: options.port,
    clock: options.clock,
    logger: options.logger,
    handler(request, response) {
      const path = request.url?.split("?", 1)[0];
      if (path !== "/liveness" && path !== "/readiness") {
        response.writeHead(404, { "content-type": "text/plain" }).end("Try /liveness or /readiness\n");
        return;
      }
      const summary = options.health.summary();
      const good = path === "/liveness" ? summary.live : summary.ready;
      const status = !good ? 503 : summary.text === "" ? 204 : 200;
      response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
      response.end(status === 204 ? undefined : summary.text);
    },
  });
}
