import { type Clock, must } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import type { DatastoreLogger } from "../../logger.ts";
import type { EtcdDatastoreConfig } from "../etcd-config.ts";
import { readCredentials } from "./credentials.ts";
import { type Endpoint, formatEndpoint } from "./endpoint.ts";
import { findEndpoints, hasCertificates, type ResolveSrv } from "./find-endpoints.ts";
import { Member, type WatchCall } from "./member.ts";
import type { Method } from "./methods.ts";
import { orAborted } from "./or-aborted.ts";
import { isClosed, isOfMember, isOfToken, rpcError } from "./rpc-error.ts";

export interface EtcdClientOptions {
  readonly config: EtcdDatastoreConfig;
  readonly clock: Clock;
  readonly logger?: DatastoreLogger | undefined;
  /** 0 to 1: at which endpoint to begin, so that clients spread. Default: random. */
  readonly start?: number;
  readonly resolveSrv?: ResolveSrv | undefined;
}

/** A watch, and the member that it is at. */
export interface OpenWatch {
  readonly call: WatchCall;
  readonly member: Member;
}

/**
 * One cluster. Everything goes to one member, until that one does not answer; then to the next:
 *
 *     endpoints  a ── b ── c ── a ...      a new connection for each, with certificates read anew;
 *                     ^ member             with SRV records they are looked up again before each round
 *
 * Errors are DatastoreErrors as a driver gives them.
 */
export class EtcdClient {
  readonly #options: EtcdClientOptions;
  #endpoints: readonly Endpoint[] = [];
  /** Index of the endpoint to connect to next. */
  #next: number;
  /** Connections made since the endpoints were looked up. */
  #tried = 0;
  #member: Member | undefined;
  #connecting: Promise<Member> | undefined;
  #isClosed = false;

  constructor(options: EtcdClientOptions) {
    this.#options = options;
    this.#next = Math.floor((options.start ?? Math.random()) * 1024);
  }

  /**
   * One request. A read is tried at every member, a write at one: whether it was done when the connection broke is not
   * known.
   */
  async call<Request extends object, Response>(
    method: Method<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): Promise<Response> {
    let hasNewToken = false;
    for (let attempt = 1; ; attempt++) {
      const member = await this.#connect(signal);
      try {
        return await member.call(method, request, signal);
      } catch (error) {
        signal.throwIfAborted();
        const isNew = isOfToken(error) && !hasNewToken;
        if (isNew) {
          hasNewToken = true;
          member.forgetToken();
        }
        if (isNew || isClosed(error)) {
          attempt--;
          continue;
        }
        const isGone = isOfMember(error);
        if (isGone) this.giveUp(member);
        if (!isGone || !method.isRead || attempt >= this.#endpoints.length)
          throw rpcError(method.op, member.name, error);
      }
    }
  }

  /** A stream for one watch. If it turns out to be broken, {@link giveUp} its member. */
  async openWatch(signal: AbortSignal): Promise<OpenWatch> {
    for (;;) {
      const member = await this.#connect(signal);
      try {
        return { member, call: await member.openWatch(signal) };
      } catch (error) {
        signal.throwIfAborted();
        if (isClosed(error)) continue;
        if (isOfMember(error)) this.giveUp(member);
        throw rpcError("Watch", member.name, error);
      }
    }
  }

  /** This member does not answer: new calls go to the next. Calls that run at it end by themselves. */
  giveUp(member: Member): void {
    if (this.#member !== member) return;
    this.#member = undefined;
    member.close();
    this.#options.logger?.warn("An etcd member does not answer", { endpoint: member.name });
  }

  /** Ends what runs. */
  close(): void {
    this.#isClosed = true;
    this.#member?.close();
    this.#member = undefined;
  }

  #connect(signal: AbortSignal): Promise<Member> {
    if (this.#member !== undefined) return Promise.resolve(this.#member);
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return orAborted(this.#connecting, signal);
  }

  async #open(): Promise<Member> {
    const { config, clock, logger, resolveSrv } = this.#options;
    if (this.#endpoints.length === 0 || (config.discoverySrv !== undefined && this.#tried >= this.#endpoints.length)) {
      this.#endpoints = await findEndpoints(config, resolveSrv);
      this.#tried = 0;
    }
    const endpoint = must(this.#endpoints[this.#next++ % this.#endpoints.length], "an endpoint of etcd");
    this.#tried++;
    const credentials = endpoint.isSecure ? await readCredentials(config, endpoint.host) : undefined;
    if (!endpoint.isSecure && hasCertificates(config))
      logger?.warn("Certificates for etcd are set, but this endpoint is http", { endpoint: formatEndpoint(endpoint) });
    if (this.#isClosed) throw new DatastoreError("The datastore is closed", { code: "DATASTORE_FAILED" });
    const { username, password } = config;
    const login = username === undefined || password === undefined ? undefined : { username, password };
    this.#member = new Member({ endpoint, credentials, login, clock });
    return this.#member;
  }
}
