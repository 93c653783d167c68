import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Clock } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import type { KubeConnection, RequestAccess } from "./kube-connection.ts";
import { networkError } from "./network-error.ts";
import { abortable } from "./abortable.ts";
import { bodyChunks, readBody } from "./body.ts";
import type { RequestLimit } from "./request-limit.ts";
import { statusError } from "./status-error.ts";

export interface KubeRequest {
  /** What is done, for messages: "List pods". */
  readonly op: string;
  /** Default GET. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `/api/v1/pods`. */
  readonly path: string;
  /** Without the ones that are undefined. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default application/json. */
  readonly contentType?: string;
  /** Default application/json. */
  readonly accept?: string;
  readonly signal: AbortSignal;
  /** Goes past the limit of requests: one of a run whose first one was counted, or one that tells the time. */
  readonly isUnlimited?: boolean;
  /** Until the answer begins, where that shall take less time than the client allows. */
  readonly answerTimeoutMs?: number;
}

export interface KubeClientOptions {
  readonly connection: KubeConnection;
  readonly clock: Clock;
  readonly limit: RequestLimit;
  /** Until an answer begins, and between two pieces of its body. Default 60,000. */
  readonly answerTimeoutMs?: number;
}

const DEFAULT_ANSWER_TIMEOUT_MS = 60_000;
/** TCP asks a silent peer for a sign of life after this, and gives it up 10 s later (libuv: 10 probes, 1 s apart). */
const TCP_KEEPALIVE_MS = 15_000;
/** An answer that is read whole. Lists are not. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** Of an answer that says what is wrong. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Requests to an API server, with its errors as DatastoreErrors: HTTP/1.1 on kept connections, a watch on one of its
 * own. Bodies are streams, so that nothing is read twice.
 */
export class KubeClient {
  readonly clock: Clock;
  readonly answerTimeoutMs: number;
  readonly #connection: KubeConnection;
  readonly #limit: RequestLimit;

  constructor({ connection, clock, limit, answerTimeoutMs = DEFAULT_ANSWER_TIMEOUT_MS }: KubeClientOptions) {
    this.clock = clock;
    this.answerTimeoutMs = answerTimeoutMs;
    this.#connection = connection;
    this.#limit = limit;
  }

  /**
   * Sends a request and resolves with an answer of success whose body the caller reads or destroys. The signal ends
   * both the request and the reading of its body.
   */
  async open(request: KubeRequest): Promise<IncomingMessage> {
    const { op, signal } = request;
    if (request.isUnlimited !== true) await this.#limit.acquire(signal);
    const access = await this.#access(op, signal);
    const answer = await this.#send(request, access);
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return answer;
    const text = await readBody(bodyChunks(this, { answer, op, signal }), op, MAX_ERROR_BYTES);
    const error = statusError({ op, status, body: jsonOf(text), retryAfterMs: retryAfterOf(answer) });
    if (status === 401) await this.#connection.refused();
    throw error;
  }

  /** The answer as JSON. */
  async json(request: KubeRequest): Promise<unknown> {
    const { op, signal } = request;
    const answer = await this.open(request);
    const text = await readBody(bodyChunks(this, { answer, op, signal }), op, MAX_ANSWER_BYTES);
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw new DatastoreError(`${op}: the answer is no JSON`, { code: "DATASTORE_MALFORMED", op, cause: error });
    }
  }

  /**
   * A connection turned out to be silent: others of the same age may be so as well. No request goes out on one that has
   * waited in the meantime.
   */
  distrustConnections(): void {
    this.#connection.distrust();
  }

  close(): void {
    this.#connection.close();
  }

  /** A plugin for credentials may take as long as a server. */
  async #access(op: string, signal: AbortSignal): Promise<RequestAccess> {
    const late = new AbortController();
    const cancel = this.clock.after(this.answerTimeoutMs, () => {
      const message = `${op}: no credentials in ${this.answerTimeoutMs / 1000} s`;
      late.abort(new DatastoreError(message, { code: "DATASTORE_TIMEOUT", op }));
    });
    return abortable(this.#connection.access(), AbortSignal.any([signal, late.signal])).finally(cancel);
  }

  async #send(request: KubeRequest, access: RequestAccess): Promise<IncomingMessage> {
    const { op, signal } = request;
    try {
      return await this.#attempt(request, access);
    } catch (error) {
      // A kept connection that the server had closed in the meantime: the request never reached it.
      if (signal.aborted || !(error instanceof StaleConnection)) throw error;
    }
    try {
      return await this.#attempt(request, access);
    } catch (error) {
      throw error instanceof StaleConnection ? networkError(op, error.cause) : error;
    }
  }

  #attempt(request: KubeRequest, { server, agent, headers }: RequestAccess): Promise<IncomingMessage> {
    const { op, signal, method = "GET" } = request;
    const payload = request.body === undefined ? undefined : JSON.stringify(request.body);
    const send = server.startsWith("http:") ? httpRequest : httpsRequest;
    return new Promise((resolve, reject) => {
      const sent = send(urlOf(server, request), {
        method,
        agent,
        headers: {
          accept: request.accept ?? "application/json",
          "user-agent": "bulrush",
          ...headers,
          ...(payload !== undefined && {
            "content-type": request.contentType ?? "application/json",
            "content-length": Buffer.byteLength(payload),
          }),
        },
      });
      let timeout: DatastoreError | undefined;
      const timeoutMs = Math.min(this.answerTimeoutMs, request.answerTimeoutMs ?? Number.POSITIVE_INFINITY);
      const cancel = this.clock.after(timeoutMs, () => {
        const message = `${op}: no answer in ${timeoutMs / 1000} s`;
        timeout = new DatastoreError(message, { code: "DATASTORE_TIMEOUT", op });
        sent.destroy(timeout);
        this.distrustConnections();
      });
      const onAbort = (): void => {
        sent.destroy(new Error("Aborted"));
      };
      const settle = (): void => {
        cancel();
        signal.removeEventListener("abort", onAbort);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      sent.on("socket", (socket) => socket.setKeepAlive(true, TCP_KEEPALIVE_MS));
      sent.on("error", (error) => {
        settle();
        if (signal.aborted) reject(signal.reason as Error);
        else if (timeout === undefined && sent.reusedSocket && isReset(error)) reject(new StaleConnection(error));
        else reject(timeout ?? networkError(op, error));
      });
      sent.on("response", (answer) => {
        settle();
        resolve(answer);
      });
      sent.end(payload);
    });
  }
}

/** Carries the error of an attempt that is worth another one. */
class StaleConnection extends Error {
  constructor(cause: unknown) {
    super("The connection was closed", { cause });
  }
}

function isReset(error: Error): boolean {
  return "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

function urlOf(server: string, { path, query = {} }: KubeRequest): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value);
  const text = parameters.toString();
  return `${server}${path}${text === "" ? "" : `?${text}`}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The header in seconds, as the API server writes it. */
function retryAfterOf({ headers }: IncomingMessage): number | undefined {
  const seconds = Number(headers["retry-after"]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}
