import { readFileSync } from "node:fs";
import { type AddressInfo, isIPv4 } from "node:net";
import { Server as SecureServer } from "node:tls";
import fastify, { type FastifyInstance } from "fastify";
import { messageOf } from "@bulrush/base";
import { TyphaError } from "../errors.ts";
import type { SyncTlsSettings, TlsFiles } from "../server/tls-material.ts";
import { forecastLimit } from "../limit/limit-forecast.ts";
import { CONSOLE_HEADERS, type ConsoleFile } from "./console-files.ts";
import { type CompareAnswer, type CompareQuestion, MAX_COMPARED, parseCompareQuestion } from "./compare.ts";
import { parseForecastQuestion } from "./forecast-question.ts";
import { snapshotBody, type SnapshotView } from "./snapshot-body.ts";
import type { CachesView, ClientsView, StatusView } from "./views.ts";

export interface AdminApiOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Needed to serve on anything but loopback: the key and CA of the sync port; clients must have a certificate. */
  readonly tls: SyncTlsSettings | undefined;
  /** May fail: then the answer is HTTP 500. */
  readonly clients: () => ClientsView | Promise<ClientsView>;
  readonly caches: () => CachesView | Promise<CachesView>;
  readonly status: () => StatusView;
  /** undefined: there is no such stream. */
  readonly compare: (question: CompareQuestion) => CompareAnswer | undefined;
  /** undefined: there is no such stream. */
  readonly snapshot: (syncer: string) => SnapshotView | undefined;
  /** The page at `/`; undefined: there is none. */
  readonly console: readonly ConsoleFile[] | undefined;
  /** A reader of a snapshot who takes nothing for so long is cut. Default 30,000. */
  readonly stalledReaderMs?: number;
}

export interface AdminApi {
  readonly address: AddressInfo;
  /** Serves new connections with these certificates. Nothing on loopback. */
  useCertificates(material: TlsFiles): void;
  close(): Promise<void>;
}

/** Host names by which a browser or a tool on this machine may call the loopback API. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/**
 * Serves the read-only admin API. On loopback plain HTTP; a request whose Host header is not this machine is refused,
 * so that no web page can read the API through a name that it controls. Elsewhere HTTPS with a client certificate of
 * the same CA.
 *
 * @throws TyphaError TYPHA_ADMIN_LISTEN when the address cannot be had, or is open to others without TLS.
 */
export async function serveAdminApi(options: AdminApiOptions): Promise<AdminApi> {
  const { host, port, tls } = options;
  const loopback = isLoopback(host);
  if (!loopback && tls === undefined) {
    throw new TyphaError(`The admin API is not served on ${host}: without TLS it is for loopback addresses only`, {
      code: "TYPHA_ADMIN_LISTEN",
    });
  }
  const app = loopback || tls === undefined ? fastify(LIMITS) : secureFastify(tls);
  if (loopback) {
    app.addHook("onRequest", async (request, reply) => {
      const name = request.headers.host?.replace(/:\d+$/, "");
      if (name === undefined || !LOOPBACK_HOSTS.has(name))
        await reply.code(403).send({ error: "The Host header does not name this machine" });
    });
  }
  app.get("/api/v1/clients", () => options.clients());
  app.get("/api/v1/caches", () => options.caches());
  app.get("/api/v1/status", () => options.status());
  app.get("/api/v1/forecast", ({ query }, reply) => {
    const inputs = parseForecastQuestion(query);
    if (typeof inputs === "string") return reply.code(400).send({ error: inputs });
    const { mean = null, ratio = null, ...rest } = forecastLimit(inputs);
    return { ...rest, mean, ratio };
  });
  serveSnapshots(app, options);
  serveConsole(app, options.console);
  app.post("/api/v1/compare", { bodyLimit: MAX_QUESTION_BYTES }, async ({ body }, reply) => {
    const question = parseCompareQuestion(body);
    if (question === undefined)
      return reply.code(400).send({ error: `Expected {syncer, kvs: [{path, hash}]} of at most ${MAX_COMPARED} KVs` });
    const answer = options.compare(question);
    return answer ?? reply.code(404).send({ error: `There is no stream ${question.syncer}` });
  });
  try {
    await app.listen({ host, port });
  } catch (cause) {
    throw new TyphaError(`The admin API cannot listen on ${host} port ${port}: ${messageOf(cause)}`, {
      code: "TYPHA_ADMIN_LISTEN",
      cause,
    });
  }
  return {
    address: app.server.address() as AddressInfo,
    useCertificates({ key, cert, ca }) {
      if (app.server instanceof SecureServer) app.server.setSecureContext({ ...SECURE, key, cert, ca });
    },
    close: () => app.close(),
  };
}

/** Each one that is on its way holds what its stream had when it began. */
const MAX_SNAPSHOTS = 2;
const STALLED_READER_MS = 30_000;

function serveSnapshots(
  app: FastifyInstance,
  { snapshot, stalledReaderMs = STALLED_READER_MS }: Pick<AdminApiOptions, "snapshot" | "stalledReaderMs">,
): void {
  let running = 0;
  app.get<{ Params: { syncer: string } }>("/api/v1/snapshot/:syncer", ({ params }, reply) => {
    if (running >= MAX_SNAPSHOTS)
      return reply.code(503).header("retry-after", "5").send({ error: "Others are reading snapshots: try again" });
    const view = snapshot(params.syncer);
    if (view === undefined) return reply.code(404).send({ error: `There is no stream ${params.syncer}` });
    running++;
    reply.raw.once("close", () => running--);
    // The socket's own timer: bytes of a large write that go out in pieces count as life.
    reply.raw.setTimeout(stalledReaderMs, () => reply.raw.destroy());
    return reply
      .type("application/octet-stream")
      .header("x-bulrush-epoch", view.epoch)
      .header("x-bulrush-sequence", view.sequence)
      .header("x-bulrush-keys", view.kvs.length)
      .send(snapshotBody(view));
  });
}

function serveConsole(app: FastifyInstance, files: readonly ConsoleFile[] | undefined): void {
  if (files === undefined) {
    app.get("/", (_, reply) =>
      reply.code(404).type("text/plain").send("There is no console here: TYPHA_CONSOLEDIR names no built one.\n"),
    );
    return;
  }
  for (const { path, type, body } of files)
    app.get(path, (_, reply) => reply.headers(CONSOLE_HEADERS).type(type).send(body));
}

/** 10,000 KVs with the longest paths. */
const MAX_QUESTION_BYTES = 24 * 1024 * 1024;

/** Other requests have no body and few headers; a slow one is cut. */
const LIMITS = { bodyLimit: 1024, requestTimeout: 10_000, forceCloseConnections: true } as const;

const SECURE = { requestCert: true, rejectUnauthorized: true, minVersion: "TLSv1.2" } as const;

function secureFastify(tls: SyncTlsSettings): FastifyInstance {
  const https = {
    key: readFileSync(tls.keyFile),
    cert: readFileSync(tls.certFile),
    ca: readFileSync(tls.caFile),
    ...SECURE,
  };
  return fastify({ ...LIMITS, https }) as unknown as FastifyInstance;
}
