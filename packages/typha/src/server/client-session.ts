import { hasCode, messageOf } from "@bulrush/base";
import {
  type ClientMessage,
  decodeClientMessage,
  frameMessage,
  type GoodbyeCode,
  type Hello,
  negotiateVersion,
  OLDEST_PROTOCOL_VERSION,
  ProtoError,
  type RejectCode,
} from "@bulrush/proto";
import type { ServedCache } from "../cache/served-cache.ts";
import { ClientStream } from "./client-stream.ts";
import { InboundMeter } from "./inbound-meter.ts";
import { openingFor, shouldWait } from "./opening.ts";
import type { SessionContext } from "./session-context.ts";
import type { Breach, Transport } from "./transport.ts";

/** After a last word, how long the connection may still take to close. */
const CLOSING_MS = 3000;
/** A client that is handed over is served for so long while it dials another server. */
const LEAVING_MS = 5000;
/** Its goodbye is said already. */
const NO_WORD: Buffer = Buffer.alloc(0);
/** RFC 6455 section 7.4.1: going away, policy violation. */
const CLOSE_GOING_AWAY = 1001;
const CLOSE_POLICY = 1008;

export type SessionState = "hello" | "opening" | "streaming" | "closing" | "closed";

/** Goodbyes that are nobody's fault. */
const EXPECTED: ReadonlySet<GoodbyeCode> = new Set(["draining", "rebalancing", "stale", "superseded"]);

/** What a client that has had no welcome is told in place of a goodbye. */
const REJECT_FOR: Partial<Record<GoodbyeCode, RejectCode>> = {
  draining: "shutting-down",
  rebalancing: "too-many-connections",
  stale: "not-in-sync",
  "bad-message": "bad-message",
  "message-too-big": "message-too-big",
  "too-many-messages": "too-many-messages",
};

/**
 * One connection from the first byte of the websocket to its end.
 *
 * ```
 *            hello ok             welcome                goodbye
 *  [hello] ------------> [opening] ------> [streaming] ----------> [closing] ---> [closed]
 *     |                      |   snapshot made,                       ^   transport closes, or CLOSING_MS
 *     |                      |   or waited for in-sync                |
 *     +-- bad hello, limit, draining, not in sync: reject ------------+
 * ```
 * Invariant: `stream` and `hello` are set from opening on. Nothing is written after the last word.
 */
export class ClientSession {
  readonly id: string;
  readonly transport: Transport;
  readonly connectedAtMs: number;
  readonly #context: SessionContext;
  readonly #handshakeDeadlineMs: number;
  #state: SessionState = "hello";
  #closingSinceMs = 0;
  #hello: Hello | undefined = undefined;
  #stream: ClientStream | undefined = undefined;
  readonly #inbound: InboundMeter;
  /** While the welcome waits for in-sync: when it has waited enough, and what ends the wait. */
  #waitDeadlineMs = Number.POSITIVE_INFINITY;
  #stopWaiting: () => void = () => {};
  #tryToBegin: () => boolean = () => true;
  /** Monotonic: until when a client that was handed over is served; undefined: it was not. */
  #leaveByMs: number | undefined = undefined;
  /** A last word that waits for the write in flight. */
  #lastWord: { readonly frame: Buffer; readonly closeCode: number } | undefined = undefined;

  constructor(context: SessionContext, transport: Transport, id: string, handshakeDeadlineMs: number) {
    this.#context = context;
    this.transport = transport;
    this.id = id;
    this.connectedAtMs = context.clock.nowMs();
    this.#handshakeDeadlineMs = handshakeDeadlineMs;
    this.#inbound = new InboundMeter(context.clock.monotonicMs());
  }

  get state(): SessionState {
    return this.#state;
  }

  get hello(): Hello | undefined {
    return this.#hello;
  }

  get stream(): ClientStream | undefined {
    return this.#stream;
  }

  /** Hands the stream's next piece to the socket, if there is a stream that can take one. */
  pump(): void {
    this.#stream?.pump();
  }

  /** Call once. From here on the session looks after itself, with `sweep` for its times. */
  start(): void {
    this.transport.start({
      onMessage: (bytes, binary) => this.#onMessage(bytes, binary),
      onControl: () => void this.#isTooMany(),
      onBreach: (breach, detail) => this.#onBreach(breach, detail),
      onClose: () => this.#onClose(),
    });
  }

  /** Refuses the client instead of a welcome. */
  reject(code: RejectCode, reason: string): void {
    if (this.#state !== "hello" && this.#state !== "opening") return;
    this.#context.log.warn("Client rejected", { ...this.describe(), code, reason });
    this.#context.metrics.rejected(code);
    this.#end(this.#rejectFrame(code, reason), CLOSE_POLICY);
  }

  /**
   * Ends a stream with the reason; a session before its welcome is rejected. `peers`: where the client should go, best
   * first, as host:port. Default: what the server advises.
   */
  goodbye(code: GoodbyeCode, reason: string, peers?: readonly string[]): void {
    if (this.#state === "hello" || this.#state === "opening") {
      this.reject(REJECT_FOR[code] ?? "internal", reason);
      return;
    }
    if (this.#state !== "streaming") return;
    const expected = EXPECTED.has(code);
    if (expected) this.#context.logger.info("Goodbye to client", { ...this.describe(), code, reason });
    else this.#context.log.warn("Goodbye to client", { ...this.describe(), code, reason });
    this.#context.metrics.goodbye(code);
    this.#end(this.#goodbyeFrame(code, reason, peers), expected ? CLOSE_GOING_AWAY : CLOSE_POLICY);
  }

  /**
   * Asks the client to go to one of these servers, best first, and serves it until it has gone, for 5 s at most: it need
   * not be without a server.
   */
  handOver(reason: string, peers: readonly string[]): void {
    if (this.#state !== "streaming" || this.isLeaving) return;
    this.#context.logger.info("Handing a client over", { ...this.describe(), reason, peers });
    this.#context.metrics.goodbye("rebalancing");
    this.#leaveByMs = this.#context.clock.monotonicMs() + LEAVING_MS;
    this.#stream?.say(this.#goodbyeFrame("rebalancing", reason, peers));
  }

  /** It was asked to go elsewhere. */
  get isLeaving(): boolean {
    return this.#leaveByMs !== undefined;
  }

  /** Cuts the connection without a word: for peers that do not read any more. */
  cut(reason: string): void {
    if (this.#state === "closed") return;
    this.#context.logger.info("Connection cut", { ...this.describe(), reason });
    this.transport.destroy();
  }

  /** Does what has fallen due. `nowMs` is monotonic. */
  sweep(nowMs: number): void {
    switch (this.#state) {
      case "hello":
        if (nowMs >= this.#handshakeDeadlineMs) this.reject("handshake-timeout", "No hello came in time");
        return;
      case "opening":
        if (!this.#tryToBegin() && nowMs >= this.#waitDeadlineMs)
          this.reject(
            "not-in-sync",
            "This server has not read the datastore as far as you know it; keep what you have",
          );
        return;
      case "closing":
        if (nowMs - this.#closingSinceMs >= CLOSING_MS) this.transport.destroy();
        return;
      case "streaming": {
        if (this.#leaveByMs !== undefined && nowMs >= this.#leaveByMs) {
          this.#end(NO_WORD, CLOSE_GOING_AWAY);
          return;
        }
        const verdict = this.#stream?.sweep(nowMs);
        if (verdict === undefined) return;
        if (verdict.cut) this.cut(verdict.reason);
        else this.goodbye(verdict.code, verdict.reason);
        return;
      }
      default:
    }
  }

  /** For the log: who this is. */
  describe(): Readonly<Record<string, unknown>> {
    const { hostname, syncer, info } = this.#hello ?? {};
    return {
      peer: this.transport.peer,
      connection: this.id,
      ...(hostname !== undefined && { hostname, syncer, info }),
    };
  }

  #onMessage(bytes: Uint8Array, binary: boolean): void {
    if (this.#state === "closing" || this.#state === "closed" || this.#isTooMany()) return;
    let message: ClientMessage;
    try {
      if (!binary) throw new ProtoError("PROTO_MALFORMED", "Messages are binary, this one is text");
      message = decodeClientMessage(bytes);
    } catch (error) {
      this.#onUndecodable(error);
      return;
    }
    if (this.#state === "hello") this.#onHello(message);
    else this.#onStreamMessage(message);
  }

  /** Counts what comes. A client that sends too much is told so. */
  #isTooMany(): boolean {
    if (this.#inbound.take(this.#context.clock.monotonicMs())) return false;
    this.goodbye("too-many-messages", "Messages come faster than any client needs to send them");
    return true;
  }

  #onHello(message: ClientMessage): void {
    if (message.type !== "hello") {
      this.reject("bad-hello", `The first message is a ${message.type}, not a hello`);
      return;
    }
    this.#hello = message;
    const version = negotiateVersion(message.version);
    const cache = this.#context.caches.get(message.syncer);
    if (version === undefined) {
      const reason = `Version ${message.version} is too old, ${OLDEST_PROTOCOL_VERSION} is the oldest that is served`;
      this.reject("unsupported-version", reason);
    } else if (cache === undefined) this.reject("unknown-syncer", `No ${message.syncer} stream is served here`);
    else {
      const refusal = this.#context.admission(this);
      if (refusal !== undefined) this.reject(refusal.code, refusal.reason);
      else this.#beginStream(message, version, cache);
    }
  }

  #beginStream(hello: Hello, version: number, cache: ServedCache): void {
    const context = this.#context;
    this.#state = "opening";
    this.#stream = new ClientStream(context, cache, hello.syncer, this.transport, () => this.#onWritten());
    context.onStreaming(this);
    context.logger.info("Client accepted", this.describe());
    const begin = (): boolean => {
      if (shouldWait(hello, cache, (type, revision) => context.isBehind(type, revision))) return false;
      this.#endWait();
      void this.#open(hello, version, cache);
      return true;
    };
    if (begin()) return;
    this.#waitDeadlineMs = context.clock.monotonicMs() + context.settings.inSyncWaitMs;
    this.#tryToBegin = begin;
    this.#stopWaiting = cache.onPublish(begin);
  }

  /** Makes the answer to an accepted hello, and gives it. */
  async #open(hello: Hello, version: number, cache: ServedCache): Promise<void> {
    try {
      const opening = await openingFor(hello, cache);
      if (this.#state === "opening" && this.#stream !== undefined) {
        this.#state = "streaming";
        const { serverName } = this.#context.settings;
        const staleSinceMs = this.#context.staleSinceMs(hello.syncer);
        const stale = staleSinceMs === undefined ? {} : { staleSinceMs };
        this.#stream.begin(opening, { version, connectionId: this.id, serverName, ...stale });
      } else if (opening.snapshot !== undefined) cache.release(opening.snapshot);
    } catch (error) {
      this.#context.logger.error("Cannot make a snapshot", { error, syncer: hello.syncer });
      this.reject("internal", "The server could not make a snapshot");
    }
  }

  #endWait(): void {
    this.#stopWaiting();
    this.#stopWaiting = () => {};
    this.#tryToBegin = () => true;
    this.#waitDeadlineMs = Number.POSITIVE_INFINITY;
  }

  #onStreamMessage(message: ClientMessage): void {
    if (this.#state === "opening") {
      this.reject("bad-message", `A ${message.type} came before the welcome`);
      return;
    }
    const problem =
      message.type === "hello" ? "A second hello came" : this.#stream?.onMessage(message, this.#context.clock.nowMs());
    if (problem !== undefined) this.goodbye("bad-message", problem);
  }

  #onUndecodable(error: unknown): void {
    const reason = messageOf(error).slice(0, 500);
    const tooBig = hasCode(error, "PROTO_TOO_BIG");
    if (this.#state === "streaming") this.goodbye(tooBig ? "message-too-big" : "bad-message", reason);
    else if (error instanceof ProtoError && error.data["field"] === "hello.syncer")
      this.reject("unknown-syncer", reason);
    else this.reject(tooBig ? "message-too-big" : "bad-message", reason);
  }

  #onBreach(breach: Breach, detail: string): Buffer | undefined {
    const context = this.#context;
    const streaming = this.#state === "streaming";
    if (this.#state === "closing" || this.#state === "closed") return undefined;
    const reason = breach === "message-too-big" ? "A message is over its bound" : `Broken websocket frames: ${detail}`;
    context.log.warn(streaming ? "Goodbye to client" : "Client rejected", { ...this.describe(), code: breach, reason });
    if (streaming) context.metrics.goodbye(breach);
    else context.metrics.rejected(breach);
    const writing = this.#stream?.busy === true;
    this.#toClosing();
    // Behind a write in flight, a frame of ours would wait for a peer that misbehaves.
    if (writing) return undefined;
    return streaming ? this.#goodbyeFrame(breach, reason) : this.#rejectFrame(breach, reason);
  }

  #onClose(): void {
    if (this.#state === "closed") return;
    const wasStreaming = this.#stream !== undefined;
    this.#endWait();
    this.#stream?.stop();
    this.#state = "closed";
    if (wasStreaming) this.#context.logger.info("Client gone", this.describe());
    this.#context.onClosed(this);
  }

  #end(frame: Buffer, closeCode: number): void {
    const writing = this.#stream?.busy === true;
    this.#toClosing();
    if (writing) this.#lastWord = { frame, closeCode };
    else this.transport.end(frame, closeCode);
  }

  #toClosing(): void {
    this.#state = "closing";
    this.#closingSinceMs = this.#context.clock.monotonicMs();
    this.#endWait();
    this.#stream?.stop();
  }

  /** The write in flight is through. */
  #onWritten(): void {
    const lastWord = this.#lastWord;
    if (lastWord === undefined || this.#state !== "closing") return;
    this.#lastWord = undefined;
    this.transport.end(lastWord.frame, lastWord.closeCode);
  }

  #rejectFrame(code: RejectCode, reason: string): Buffer {
    return frameMessage({ type: "reject", code, reason, ...this.#context.advice(code) });
  }

  #goodbyeFrame(code: GoodbyeCode, reason: string, peers?: readonly string[]): Buffer {
    const advice = this.#context.advice(code);
    return frameMessage({ type: "goodbye", code, reason, ...advice, ...(peers !== undefined && { peers }) });
  }
}
