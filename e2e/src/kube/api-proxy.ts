import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { ExpiredEvents } from "./expired-events.ts";
import type { KubeFiles } from "./kube-files.ts";

export interface ApiProxyOptions {
  /** Where the API server is: `https://127.0.0.1:PORT`. */
  readonly url: string;
  /** Its keys: the proxy shows the same certificate. */
  readonly files: Pick<KubeFiles, "server" | "caPem">;
  /** Objects a page has at most, whatever was asked for: a short list then has many pages. Default: as asked. */
  readonly maxPage?: number;
}

/** What is asked for: the first page of a list, a later page, a list as a stream, a watch, anything else. */
type Asked = "list" | "continuation" | "stream" | "watch" | "other";

/** What has passed, counted. "Expired" is 410: of a watch as its answer or as an event of it. */
export interface Traffic {
  lists: number;
  continuations: number;
  expiredContinuations: number;
  streams: number;
  refusedStreams: number;
  expiredStreams: number;
  watches: number;
  expiredWatches: number;
}

const GONE = 410;
/** Of one connection only (RFC 9110, section 7.6.1). */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding", "host"]);

/**
 * Stands between clients and an API server, with the server's own certificate, and sees what TLS hides: which lists and
 * watches there are, and which of them are told 410. It changes nothing but the length of pages, and can hold a request
 * for the next page up, so that something happens in the middle of a list.
 */
export class ApiProxy {
  readonly traffic: Traffic = {
    lists: 0,
    continuations: 0,
    expiredContinuations: 0,
    streams: 0,
    refusedStreams: 0,
    expiredStreams: 0,
    watches: 0,
    expiredWatches: 0,
  };
  readonly port: number;
  readonly #options: ApiProxyOptions;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #watches = new Set<ServerResponse>();
  #beforeContinuation: ((path: string) => Promise<void>) | undefined;

  private constructor(options: ApiProxyOptions, server: Server) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, ca: options.files.caPem });
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("request", (near: IncomingMessage, answer: ServerResponse) => void this.#forward(near, answer));
  }

  static async start(options: ApiProxyOptions): Promise<ApiProxy> {
    const { cert, key } = options.files.server;
    const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ApiProxy(options, server);
  }

  /** Watches that are open now, streamed lists not counted. */
  get openWatches(): number {
    return this.#watches.size;
  }

  /** Done once, before the next request for a later page goes on; `path` says of which list. A later call replaces it. */
  beforeNextContinuation(work: (path: string) => Promise<void>): void {
    this.#beforeContinuation = work;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #forward(near: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(near.url ?? "/", this.#options.url);
    const asked = askedOf(near.method ?? "", url.searchParams);
    this.#shorten(url.searchParams);
    if (asked === "continuation") {
      const work = this.#beforeContinuation;
      this.#beforeContinuation = undefined;
      // Whoever waits for the work sees its failure; the request goes on.
      await work?.(url.pathname).catch(() => undefined);
    }
    const headers = Object.fromEntries(Object.entries(near.headers).filter(([name]) => !OF_THE_CONNECTION.has(name)));
    const sent = request(url, { method: near.method, headers, agent: this.#agent });
    answer.on("close", () => {
      this.#watches.delete(answer);
      sent.destroy();
    });
    // What the client sees of a server that is not there.
    sent.on("error", () => answer.destroy());
    sent.on("response", (far) => this.#answer(asked, far, answer));
    near.pipe(sent);
  }

  #answer(asked: Asked, far: IncomingMessage, answer: ServerResponse): void {
    const status = far.statusCode ?? 0;
    this.#count(asked, status);
    if (asked === "watch" && status === 200) this.#watches.add(answer);
    const headers = Object.entries(far.headers).filter(([name]) => !OF_THE_CONNECTION.has(name));
    answer.writeHead(status, Object.fromEntries(headers));
    // A watch may be silent for long after it was opened.
    answer.flushHeaders();
    if ((asked === "watch" || asked === "stream") && status === 200) {
      const events = new ExpiredEvents(() => {
        if (asked === "watch") this.traffic.expiredWatches++;
        else this.traffic.expiredStreams++;
      });
      far.on("data", (chunk: Buffer) => events.push(chunk));
    }
    far.on("error", () => answer.destroy());
    far.on("close", () => {
      if (!far.complete) answer.destroy();
    });
    far.pipe(answer);
  }

  #shorten(query: URLSearchParams): void {
    const { maxPage } = this.#options;
    const limit = query.get("limit");
    if (maxPage !== undefined && limit !== null) query.set("limit", String(Math.min(maxPage, Number(limit))));
  }

  #count(asked: Asked, status: number): void {
    const { traffic } = this;
    const isGone = status === GONE;
    switch (asked) {
      case "list":
        traffic.lists++;
        return;
      case "continuation":
        traffic.continuations++;
        if (isGone) traffic.expiredContinuations++;
        return;
      case "stream":
        if (isGone) traffic.expiredStreams++;
        else if (status === 200) traffic.streams++;
        else if (status < 500) traffic.refusedStreams++;
        return;
      case "watch":
        if (isGone) traffic.expiredWatches++;
        else if (status === 200) traffic.watches++;
        return;
      case "other":
    }
  }
}

function askedOf(method: string, query: URLSearchParams): Asked {
  if (method !== "GET") return "other";
  if (query.get("sendInitialEvents") === "true") return "stream";
  if (query.get("watch") === "true") return "watch";
  if (query.has("continue")) return "continuation";
  // A look at one object is no list; nor is the sign of life, which asks for one.
  return query.has("limit") && query.get("limit") !== "1" ? "list" : "other";
}
