import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent, type RequestOptions } from "node:https";
import { type Clock, messageOf } from "@bulrush/base";
import type { KubeConfig } from "@kubernetes/client-node";
import { DatastoreError } from "../../errors.ts";
import type { KubernetesDatastoreConfig } from "../kubernetes-config.ts";
import { loadKubeConfig } from "./load-kubeconfig.ts";

/** What one request needs to get there and be let in. */
export interface RequestAccess {
  /** Without a slash at its end; may have a path. */
  readonly server: string;
  readonly agent: HttpAgent;
  readonly headers: Readonly<Record<string, string>>;
}

/** Connections that wait for their next request. Each watch has one of its own beside them. */
const MAX_FREE_SOCKETS = 8;
/** After a 401 the settings are read again, but not more often than this. */
const RELOAD_INTERVAL_MS = 10_000;

/**
 * The way to an API server: address, TLS and credentials from the client library's KubeConfig (tokens in files, exec
 * plugins, OIDC, proxies), connections of our own.
 *
 * Invariant: `#agent` was made from the TLS material that `#fingerprint` spells out.
 */
export class KubeConnection {
  readonly #config: KubernetesDatastoreConfig;
  readonly #clock: Clock;
  readonly #agents = new Set<HttpAgent>();
  #kubeConfig: KubeConfig;
  #loadedAtMs: number;
  #agent: HttpAgent | undefined;
  #fingerprint = "";

  private constructor(config: KubernetesDatastoreConfig, clock: Clock, kubeConfig: KubeConfig) {
    this.#config = config;
    this.#clock = clock;
    this.#kubeConfig = kubeConfig;
    this.#loadedAtMs = clock.monotonicMs();
  }

  /** @throws DatastoreError DATASTORE_BAD_CONFIG. The server is not asked for anything. */
  static async open(config: KubernetesDatastoreConfig, clock: Clock): Promise<KubeConnection> {
    return new KubeConnection(config, clock, await loadKubeConfig(config));
  }

  /** Of the next request: tokens and certificates may have changed since the last one. */
  async access(): Promise<RequestAccess> {
    const cluster = this.#kubeConfig.getCurrentCluster();
    const options: RequestOptions = {};
    try {
      await this.#kubeConfig.applyToHTTPSOptions(options);
    } catch (error) {
      throw new DatastoreError(`No credentials for the API server: ${messageOf(error)}`, {
        code: "DATASTORE_UNAUTHORIZED",
        op: "Read credentials",
        cause: error,
      });
    }
    const headers: Record<string, string> = {};
    if (typeof options.auth === "string")
      headers["Authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name] = String(value).trim();
    const isProxied = cluster?.proxyUrl !== undefined && options.agent instanceof HttpAgent;
    return {
      server: (cluster?.server ?? "").replace(/\/+$/, ""),
      agent: isProxied ? (options.agent as HttpAgent) : this.#agentFor(cluster?.server ?? "", options),
      headers,
    };
  }

  /** The server did not take the credentials: reads everything again, now and then. Never throws. */
  async refused(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#loadedAtMs < RELOAD_INTERVAL_MS) return;
    this.#loadedAtMs = this.#clock.monotonicMs();
    try {
      this.#kubeConfig = await loadKubeConfig(this.#config);
    } catch {
      // Somebody is at work on the files: what was read before is as good as nothing.
    }
  }

  /** Ends the connections that wait for a request: they may lead nowhere. Those in use are left to their requests. */
  distrust(): void {
    for (const agent of this.#agents) for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy();
  }

  #agentFor(server: string, options: RequestOptions): HttpAgent {
    const { ca, cert, key, servername, rejectUnauthorized } = options;
    const tls = { ca, cert, key, servername, rejectUnauthorized };
    const fingerprint = [server, ...Object.values(tls).map(String)].join("\n");
    if (this.#agent === undefined || fingerprint !== this.#fingerprint) {
      this.#fingerprint = fingerprint;
      const pool = { keepAlive: true, maxFreeSockets: MAX_FREE_SOCKETS };
      const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
      this.#agent = server.startsWith("http:") ? new HttpAgent(pool) : new HttpsAgent({ ...pool, ...given });
      // The connections of the one before end with their requests.
      this.#agents.add(this.#agent);
    }
    return this.#agent;
  }
}
