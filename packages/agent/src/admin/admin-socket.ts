import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { dirname } from "node:path";
import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { FlowText } from "@bulrush/calc";
import type { DriftReport, HostReport, StagedConnections } from "@bulrush/dataplane";
import type { Logger } from "@bulrush/service";
import type { HostExplanation } from "../pipeline/live-dataplane.ts";
import type { FlowLine, FlowRing } from "./flow-ring.ts";

const RETRY_MS = 10_000;
const MAX_CONNECTIONS = 32;
/** A follower who is this far behind misses lines, and is told how many. */
const MAX_BEHIND_BYTES = 1024 * 1024;

export interface AdminSocketOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `undefined` while there is no dataplane. */
  readonly inspect: () => Promise<DriftReport> | undefined;
  /** `undefined` while there is no dataplane. */
  readonly report: () => HostReport | undefined;
  /** `undefined` while there is no dataplane. */
  readonly explain: (flow: FlowText) => HostExplanation | undefined;
  /** `undefined` while there is no dataplane. */
  readonly staged: () => Promise<StagedConnections> | undefined;
  /** `undefined` while the flow log is off. */
  readonly flows: () => FlowRing | undefined;
}

/**
 * The agent's own door: HTTP on a Unix socket that only root may open.
 *
 *     GET /api/v1/drift             the drift report, as one JSON object
 *     GET /api/v1/endpoints         what this host guards, and how far it is, as one JSON object
 *     GET /api/v1/explain?from=...  the verdict of a flow by what this host was told, as one JSON object; the fields of a
 *                                   flow are `from`, `to`, `protocol`, `port` and so on
 *     GET /api/v1/staged            the connections that staged policies would change, as one JSON object
 *     GET /api/v1/flows[?follow=1]  flows that were denied or logged, one JSON object a line; with `follow`, for ever
 *
 * A socket of a process that is gone is replaced; a path that cannot be had is tried again every 10 s, and nothing else
 * depends on it. Gives the way to close it.
 */
export function serveAdminSocket(options: AdminSocketOptions): () => Promise<void> {
  const { clock, logger, path } = options;
  let server: Server | undefined;
  let cancelRetry: CancelTimer = () => {};
  let closed = false;
  let lastFailure: string | undefined;

  const retry = (error: unknown): void => {
    server = undefined;
    if (closed) return;
    const message = messageOf(error);
    if (message !== lastFailure)
      logger.warn("Cannot open the admin socket, will try again every 10 s", { path, error });
    lastFailure = message;
    cancelRetry = clock.after(RETRY_MS, () => void open());
  };
  const open = async (): Promise<void> => {
    try {
      mkdirSync(dirname(path), { recursive: true });
      if (await isAnswered(path)) throw new Error("another process listens there");
      if (closed) return;
      rmSync(path, { force: true });
      const next = createServer((request, response) => answer(options, request, response));
      next.maxConnections = MAX_CONNECTIONS;
      next.on("error", retry);
      next.listen(path, () => {
        chmodSync(path, 0o600);
        lastFailure = undefined;
      });
      server = next;
    } catch (error) {
      retry(error);
    }
  };
  void open();
  return () => {
    closed = true;
    cancelRetry();
    const { promise, resolve } = Promise.withResolvers<void>();
    if (server === undefined) resolve();
    else {
      server.close(() => resolve());
      server.closeAllConnections();
    }
    return promise;
  };
}

/** True when somebody listens on the socket; false when there is none, or only what a dead process has left. */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function answer(options: AdminSocketOptions, request: IncomingMessage, response: ServerResponse): void {
  const url = URL.parse(request.url ?? "/", "http://agent");
  if (url === null) refuse(response, 400, "Not a path");
  else if (request.method !== "GET") refuse(response, 405, "Only GET");
  else if (url.pathname === "/api/v1/drift") void answerLater(options, "inspect", response);
  else if (url.pathname === "/api/v1/staged") void answerLater(options, "staged", response);
  else if (url.pathname === "/api/v1/endpoints") answerReport(options.report(), response);
  else if (url.pathname === "/api/v1/explain") answerExplain(options, response, url.searchParams);
  else if (url.pathname === "/api/v1/flows") answerFlows(options, response, url.searchParams.has("follow"));
  else
    refuse(
      response,
      404,
      "There is /api/v1/drift, /api/v1/endpoints, /api/v1/explain, /api/v1/staged and /api/v1/flows",
    );
}

/** Never rejects: what the kernel does not tell is the answer of one request. */
async function answerLater(
  options: AdminSocketOptions,
  what: "inspect" | "staged",
  response: ServerResponse,
): Promise<void> {
  try {
    answerReport(await options[what](), response);
  } catch (error) {
    options.logger.warn("Cannot inspect the kernel", { error });
    if (!response.headersSent) refuse(response, 500, messageOf(error));
  }
}

function answerReport(report: object | undefined, response: ServerResponse): void {
  if (report === undefined) refuse(response, 503, "The dataplane has not started");
  else response.writeHead(200, { "content-type": "application/json" }).end(`${JSON.stringify(report)}\n`);
}

/** Never throws: nobody who asks ends the agent. Repeated fields count once: the last. */
function answerExplain(options: AdminSocketOptions, response: ServerResponse, fields: URLSearchParams): void {
  const { from = "", to = "", protocol = "tcp", ...rest } = Object.fromEntries(fields);
  try {
    const found = options.explain({ from, to, protocol, ...rest });
    if (found !== undefined && "problem" in found) refuse(response, 400, found.problem);
    else answerReport(found?.verdict, response);
  } catch (error) {
    options.logger.warn("Cannot explain a flow", { error });
    refuse(response, 500, messageOf(error));
  }
}

function answerFlows(options: AdminSocketOptions, response: ServerResponse, follow: boolean): void {
  const flows = options.flows();
  if (flows === undefined) {
    refuse(response, 404, "The flow log is off: the setting FlowLogsLocalReporter switches it on");
    return;
  }
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.write(textOf(flows.recent()));
  if (!follow) {
    response.end();
    return;
  }
  response.flushHeaders();
  let missed = 0;
  const stop = flows.follow((lines) => {
    if (response.writableLength > MAX_BEHIND_BYTES) missed += lines.length;
    else {
      response.write(textOf(missed > 0 ? [{ lost: missed }, ...lines] : lines));
      missed = 0;
    }
  });
  response.on("close", stop);
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { "content-type": "text/plain" }).end(`${why}\n`);
}

function textOf(lines: readonly FlowLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
