import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  credentials as grpcCredentials,
  Metadata,
} from "@grpc/grpc-js";
import type { Clock } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import { targetNameOf } from "./credentials.ts";
import { type Endpoint, formatEndpoint, hostAndPort } from "./endpoint.ts";
import { AUTHENTICATE, type Method, STATUS, WATCH_PATH } from "./methods.ts";
import { orAborted } from "./or-aborted.ts";
import { decodeMessage, encodeMessage } from "./protobuf.ts";
import { detailsOf } from "./rpc-error.ts";

/** How long an answer may take, connecting and logging in included. */
const REQUEST_TIMEOUT_MS = 10_000;

const MAX_MESSAGE_BYTES: number = 64 << 20;

const OPTIONS: ClientOptions = {
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  // A ping after 30 s without a byte; 10 s later the connection is dead. etcd allows one every 5 s.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.keepalive_permit_without_calls": 0,
  // Which member comes next is for us to say; a new connection is not to inherit the waiting times of an old one.
  "grpc.enable_retries": 0,
  "grpc.use_local_subchannel_pool": 1,
  "grpc.service_config_disable_resolution": 1,
  // `http_proxy` of a host is for what is outside of it.
  "grpc.enable_http_proxy": 0,
};

export interface Login {
  readonly username: string;
  readonly password: string;
}

export interface MemberOptions {
  readonly endpoint: Endpoint;
  /** Where the endpoint is secure. */
  readonly credentials: ChannelCredentials | undefined;
  readonly login: Login | undefined;
  readonly clock: Clock;
}

/** For what several callers wait for; its own time limit ends it. */
const NEVER = new AbortController().signal;

export type WatchCall = ClientDuplexStream<Buffer, Buffer>;

/** A connection to one member of a cluster, which may break and come back. */
export class Member {
  /** For messages: `https://HOST:PORT`. */
  readonly name: string;
  readonly #client: Client;
  readonly #login: Login | undefined;
  readonly #clock: Clock;
  #token: Promise<string | undefined> | undefined;
  #isProgressSafe: Promise<boolean> | undefined;

  constructor({ endpoint, credentials, login, clock }: MemberOptions) {
    this.name = formatEndpoint(endpoint);
    const channel = endpoint.isSecure ? credentials : undefined;
    this.#client = new Client(`dns:///${hostAndPort(endpoint)}`, channel ?? grpcCredentials.createInsecure(), {
      ...OPTIONS,
      ...targetNameOf(endpoint.host),
    });
    this.#login = login;
    this.#clock = clock;
  }

  /** Rejects with gRPC's own errors, DATASTORE_TIMEOUT, DATASTORE_MALFORMED, or the reason of the signal. */
  async call<Request extends object, Response>(
    method: Method<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): Promise<Response> {
    return this.#send(method, request, await this.#metadata(signal), signal);
  }

  /** A stream of watch requests and responses, both as bytes. It ends with `cancel`. */
  async openWatch(signal: AbortSignal): Promise<WatchCall> {
    const metadata = await this.#metadata(signal);
    return this.#client.makeBidiStreamRequest(WATCH_PATH, asIs, asIs, metadata, {});
  }

  /** The next call logs in again. */
  forgetToken(): void {
    this.#token = undefined;
  }

  /**
   * True if this server answers a progress request only after all events up to the revision that it names. Servers
   * before 3.4.25 and 3.5.8 may name one whose events are still to come.
   */
  isProgressSafe(): Promise<boolean> {
    this.#isProgressSafe ??= this.call(STATUS, {}, NEVER).then(
      ({ version }) => isProgressSafe(version),
      () => {
        this.#isProgressSafe = undefined;
        return false;
      },
    );
    return this.#isProgressSafe;
  }

  /** Calls that run may go on to their end; no new ones begin. */
  close(): void {
    this.#client.close();
  }

  async #metadata(signal: AbortSignal): Promise<Metadata> {
    const metadata = new Metadata();
    // A member that is cut off from the others says so at once, and ends its watches.
    metadata.set("hasleader", "true");
    const token = await this.#tokenOf(signal);
    if (token !== undefined) metadata.set("token", token);
    return metadata;
  }

  async #tokenOf(signal: AbortSignal): Promise<string | undefined> {
    if (this.#login === undefined) return undefined;
    // Everybody waits for the same one, so it does not end with the first who asked.
    this.#token ??= this.#logIn(this.#login, NEVER);
    const token = this.#token;
    try {
      return await orAborted(token, signal);
    } catch (error) {
      if (this.#token === token) this.#token = undefined;
      throw error;
    }
  }

  async #logIn({ username, password }: Login, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { token } = await this.#send(AUTHENTICATE, { name: username, password }, new Metadata(), signal);
      return token;
    } catch (error) {
      // Everybody may do everything there.
      if (detailsOf(error).includes("authentication is not enabled")) return undefined;
      throw error;
    }
  }

  async #send<Request extends object, Response>(
    method: Method<Request, Response>,
    request: Request,
    metadata: Metadata,
    signal: AbortSignal,
  ): Promise<Response> {
    signal.throwIfAborted();
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      let isLate = false;
      const message = encodeMessage(method.request, request);
      // Throws if the member was closed meanwhile: nothing may be left waiting then.
      const call = this.#client.makeUnaryRequest(method.path, asIs, asIs, message, metadata, {}, (error, answer) => {
        cancelTimer();
        signal.removeEventListener("abort", onAbort);
        if (error === null) resolve(answer ?? Buffer.alloc(0));
        else if (signal.aborted) reject(signal.reason);
        else reject(isLate ? timeout(method.op, this.name) : error);
      });
      const onAbort = (): void => call.cancel();
      const cancelTimer = this.#clock.after(REQUEST_TIMEOUT_MS, () => {
        isLate = true;
        call.cancel();
      });
      signal.addEventListener("abort", onAbort, { once: true });
    });
    return decodeMessage(method.response, bytes);
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

function timeout(op: string, endpoint: string): DatastoreError {
  return new DatastoreError(`${op} at ${endpoint}: no answer in ${REQUEST_TIMEOUT_MS / 1000} s`, {
    code: "DATASTORE_TIMEOUT",
    op,
    data: { endpoint },
  });
}

function isProgressSafe(version: string): boolean {
  const [, major = 0, minor = 0, patch = 0] = (/^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  if (major !== 3) return major > 3;
  if (minor === 4) return patch >= 25;
  return minor === 5 ? patch >= 8 : minor > 5;
}
