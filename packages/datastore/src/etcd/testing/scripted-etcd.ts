import {
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import {
  type AuthenticateRequest,
  authenticateRequest,
  authenticateResponse,
  type RangeRequest,
  rangeRequest,
  type RangeResponse,
  rangeResponse,
  statusResponse,
  type TxnRequest,
  txnRequest,
  type TxnResponse,
  txnResponse,
  type WatchRequest,
  watchRequest,
  type WatchResponse,
  watchResponse,
} from "../client/messages.ts";
import { AUTHENTICATE, RANGE, STATUS, TXN, WATCH_PATH } from "../client/methods.ts";
import { decodeMessage, encodeMessage, type Schema } from "../client/protobuf.ts";

/** What a script answers: a response, a refusal, or nothing ever. */
type Scripted<T> = T | Partial<StatusObject> | "silent";

/** One watch stream, as its server sees it. */
export interface ScriptedWatch {
  /** All requests on it so far. */
  readonly requests: WatchRequest[];
  /** Resolves when there are so many. */
  received(count: number): Promise<void>;
  send(response: Partial<WatchResponse>): void;
  end(): void;
}

export interface Script {
  version?: string;
  /** `token`: what the caller carries. */
  onRange?: (request: RangeRequest, token: string | undefined) => Scripted<Partial<RangeResponse>>;
  onTxn?: (request: TxnRequest) => Scripted<Partial<TxnResponse>>;
  onAuthenticate?: (request: AuthenticateRequest) => Scripted<{ readonly token: string }>;
}

export const CLUSTER_ID = 0xcafe_cafe_cafe_cafen;

export function header(revision: number, cluster_id: bigint = CLUSTER_ID): RangeResponse["header"] {
  return { cluster_id, revision };
}

const EMPTY_WATCH: WatchResponse = {
  header: undefined,
  watch_id: 0,
  created: false,
  canceled: false,
  compact_revision: 0,
  cancel_reason: "",
  fragment: false,
  events: [],
};

/** An etcd in this process that says what a test tells it to: for what a real one does only once in a while. */
export class ScriptedEtcd {
  /** Watch streams in the order in which they were opened. */
  readonly watches: ScriptedWatch[] = [];
  readonly script: Script;
  readonly #server: Server;
  #port = 0;
  #onWatch: (() => void) | undefined;

  private constructor(server: Server, script: Script) {
    this.#server = server;
    this.script = script;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  static async start(script: Script = {}): Promise<ScriptedEtcd> {
    const server = new Server({ "grpc.max_send_message_length": -1 });
    const etcd = new ScriptedEtcd(server, script);
    const define = (path: string, stream: boolean): object => ({
      path,
      requestStream: stream,
      responseStream: stream,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    });
    const service = {
      range: define(RANGE.path, false),
      txn: define(TXN.path, false),
      authenticate: define(AUTHENTICATE.path, false),
      status: define(STATUS.path, false),
      watch: define(WATCH_PATH, true),
    };
    server.addService(
      service as never,
      {
        range: unary(rangeRequest, rangeResponse, (request, token) => ({
          header: header(1),
          kvs: [],
          more: false,
          count: 0,
          ...asObject(script.onRange?.(request, token)),
        })),
        txn: unary(txnRequest, txnResponse, (request) => ({
          header: header(1),
          succeeded: true,
          responses: [],
          ...asObject(script.onTxn?.(request)),
        })),
        authenticate: unary(authenticateRequest, authenticateResponse, (request) => ({
          header: header(1),
          token: "",
          ...asObject(script.onAuthenticate?.(request)),
        })),
        status: unary({}, statusResponse, () => ({ header: header(1), version: script.version ?? "3.6.8" })),
        watch: (call: ServerDuplexStream<Buffer, Buffer>) => etcd.#accept(call),
      } as never,
    );
    etcd.#port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return etcd;
  }

  /** The watch stream of this number, when it has been opened and has asked for its watch. */
  async watch(index: number): Promise<ScriptedWatch> {
    for (;;) {
      const watch = this.watches[index];
      if (watch !== undefined) {
        await watch.received(1);
        return watch;
      }
      await new Promise<void>((resolve) => {
        this.#onWatch = resolve;
      });
    }
  }

  stop(): void {
    this.#server.forceShutdown();
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  #accept(call: ServerDuplexStream<Buffer, Buffer>): void {
    const requests: WatchRequest[] = [];
    let wake: (() => void) | undefined;
    call.on("data", (bytes: Buffer) => {
      requests.push(decodeMessage(watchRequest, bytes));
      wake?.();
    });
    call.on("error", () => {});
    call.on("cancelled", () => call.end());
    this.watches.push({
      requests,
      async received(count) {
        while (requests.length < count) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      },
      send: (response) => {
        call.write(encodeMessage(watchResponse, { ...EMPTY_WATCH, ...response }));
      },
      end: () => call.end(),
    });
    this.#onWatch?.();
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

const SILENT = Symbol("silent");

/** Refusals travel as what they are. */
function asObject<T>(scripted: Scripted<T> | undefined): object {
  return scripted === "silent" ? { [SILENT]: true } : ((scripted ?? {}) as object);
}

function unary<Request, Response extends object>(
  request: Schema<Request>,
  response: Schema<Response>,
  answer: (request: Request, token: string | undefined) => Response,
): handleUnaryCall<Buffer, Buffer> {
  return (call, callback) => {
    const token = call.metadata.get("token")[0];
    const made = answer(decodeMessage(request, call.request), typeof token === "string" ? token : undefined);
    if (SILENT in made) return;
    if ("code" in made) {
      const { code, details } = made as unknown as Partial<StatusObject>;
      callback({ code: code ?? status.UNKNOWN, details: details ?? "", metadata: new Metadata() });
    } else callback(null, encodeMessage(response, made));
  };
}
