import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { Logger } from "../log/logger.ts";
import { clientRefusal, type HttpTlsOptions, tlsMaterial } from "./tls.ts";

/** A small server for other machines: reading only, plain or over TLS. */
export interface HttpServerOptions {
  /** For the log: "health", "metrics". */
  readonly name: string;
  /** Empty: all addresses. `localhost`: 127.0.0.1, whatever a resolver says. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Called for GET and HEAD only. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** Absent: plain HTTP. */
  readonly tls?: HttpTlsOptions | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A server that was started. The caller closes it. */
export interface HttpServerHandle {
  /** Resolves at the first successful listen. Never rejects: failures are logged and tried again. */
  readonly listening: Promise<AddressInfo>;
  /** Stops listening and trying, ends the open connections. */
  close(): Promise<void>;
}

const RETRY_MS = 1000;
/** A probe or a scrape needs few of them; more are refused, not queued. */
const MAX_CONNECTIONS = 64;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 8192;

/**
 * A small server for probes and scrapes on node:http: GET and HEAD, few connections, short time-outs. It listens, and
 * tries again every second when it cannot (the port is taken, the certificate does not load).
 */
export function serveHttp(options: HttpServerOptions): HttpServerHandle {
  const { logger, clock } = options;
  let closed = false;
  let server: Server | undefined;
  let cancelRetry: CancelTimer = () => {};
  let lastFailure: string | undefined;
  const { promise: listening, resolve } = Promise.withResolvers<AddressInfo>();

  const retry = (error: unknown): void => {
    server?.close();
    server = undefined;
    if (closed) return;
    const message = messageOf(error);
    // The same failure every second is said once.
    if (message !== lastFailure)
      logger.warn("Cannot listen, will try again every second", {
        server: options.name,
        host: options.host,
        port: options.port,
        error,
      });
    lastFailure = message;
    cancelRetry = clock.after(RETRY_MS, listen);
  };
  const listen = (): void => {
    try {
      server = makeServer(options);
    } catch (error) {
      retry(error);
      return;
    }
    const current = server;
    current.once("error", retry);
    // A resolver may give ::1 alone, where not every probe looks, another host's address, or nothing.
    const host = options.host === "localhost" ? "127.0.0.1" : options.host;
    current.listen({ port: options.port, ...(host !== "" && { host }) }, () => {
      current.off("error", retry);
      current.on("error", (error) => logger.warn("Server error", { server: options.name, error }));
      lastFailure = undefined;
      const address = current.address() as AddressInfo;
      logger.info("Listening", { server: options.name, address: address.address, port: address.port });
      resolve(address);
    });
  };
  listen();

  return {
    listening,
    close: () =>
      new Promise((done) => {
        closed = true;
        cancelRetry();
        if (server === undefined) return done();
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function makeServer(options: HttpServerOptions): Server {
  const limits = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  const { tls } = options;
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const refusal = tls === undefined ? undefined : clientRefusal(request.socket, tls.clientAuth);
    if (refusal !== undefined) {
      response.writeHead(403, { "content-type": "text/plain", connection: "close" }).end(`${refusal}\n`);
      return;
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD", connection: "close" }).end();
      return;
    }
    options.handler(request, response);
  };
  if (tls === undefined) return bounded(createServer(limits, handle));

  const material = tlsMaterial(tls);
  const server = createTlsServer({ ...limits, ...material.load() }, handle);
  server.on("tlsClientError", (error) => options.logger.debug("TLS handshake failed", { server: options.name, error }));
  // Before the handshake of each connection: a renewed certificate counts from the next one on.
  server.prependListener("connection", () => {
    try {
      if (material.changed()) server.setSecureContext(material.load());
    } catch (error) {
      options.logger.warn("New certificate does not load, the old one stays", { server: options.name, error });
    }
  });
  return bounded(server);
}

function bounded<S extends Server>(server: S): S {
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}
