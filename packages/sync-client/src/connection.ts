import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import {
  type ClientMessage,
  decodeServerMessage,
  encodeMessage,
  ProtoError,
  SERVER_MESSAGE_LIMITS,
  type ServerMessage,
  SYNC_PATH,
  SYNC_SUBPROTOCOL,
} from "@bulrush/proto";
import { WebSocket } from "ws";
import { SyncClientError } from "./errors.ts";
import { formatServerAddress, type ServerAddress } from "./server-address.ts";
import type { TLSMaterial } from "./tls.ts";
import { dialError, tlsOptions } from "./tls-check.ts";

export interface ConnectionOptions {
  readonly address: ServerAddress;
  readonly tls: TLSMaterial | undefined;
  readonly clock: Clock;
  readonly dialTimeoutMs: number;
  /** Longest silence; `expectPings` may make it longer. */
  readonly readTimeoutMs: number;
  readonly writeTimeoutMs: number;
  onOpen(): void;
  /** May throw: the connection is then lost, with that error. */
  onMessage(message: ServerMessage): void;
  /** Once, last of all. */
  onLost(error: Error): void;
}

/** Bytes of the reason in a close frame (RFC 6455 section 5.5: 125, less two for the code). */
const MAX_CLOSE_REASON = 123;
/** RFC 6455 section 7.4.1: the peer broke the protocol; we go away. */
const CLOSE_PROTOCOL_ERROR = 1002;
const CLOSE_GOING_AWAY = 1001;
/** Silence of so many times between pings is a loss: one late ping, or one lost to a pause of the server, is none. */
const PINGS_MISSED = 3;
/** A server that says it pings less often than this is not waited for longer. */
const MAX_PING_INTERVAL_MS = 600_000;

/**
 * One websocket to one server, with its time-outs. It is lost once, for one reason; nothing is called after that.
 *
 * Invariant: at most one read timer runs, and none while the connection is paused or held.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #where: string;
  readonly #socket: WebSocket | undefined;
  #isLost = false;
  #isPaused = false;
  #isHeld = false;
  /** What was read in spite of `hold`: no more than one read of the socket brings. */
  readonly #heldMessages: { readonly data: Buffer; readonly isBinary: boolean }[] = [];
  #isSecured = false;
  #cancelDial: CancelTimer | undefined;
  #cancelRead: CancelTimer | undefined;
  readonly #cancelWrites = new Set<CancelTimer>();
  #lastMessageMs: number;
  #readTimeoutMs: number;

  /** Dials at once. No callback is called from here. */
  constructor(options: ConnectionOptions) {
    const { tls } = options;
    this.#options = options;
    this.#where = formatServerAddress(options.address);
    this.#lastMessageMs = options.clock.monotonicMs();
    this.#readTimeoutMs = options.readTimeoutMs;
    this.#cancelDial = options.clock.after(options.dialTimeoutMs, () => this.#timeOut("dial", options.dialTimeoutMs));
    try {
      this.#socket = new WebSocket(
        `${tls === undefined ? "ws" : "wss"}://${this.#where}${SYNC_PATH}`,
        [SYNC_SUBPROTOCOL],
        {
          ...(tls === undefined ? {} : { createConnection: () => this.#secure(tls) }),
          perMessageDeflate: false,
          maxPayload: SERVER_MESSAGE_LIMITS.maxFrameBytes,
          followRedirects: false,
        },
      );
    } catch (cause) {
      queueMicrotask(() => this.#lose(dialError(cause, this.#where, false)));
      return;
    }
    this.#listen(this.#socket);
  }

  send(message: ClientMessage): void {
    const socket = this.#socket;
    if (this.#isLost || socket?.readyState !== WebSocket.OPEN) return;
    const { clock, writeTimeoutMs } = this.#options;
    const cancel = clock.after(writeTimeoutMs, () => this.#timeOut("write", writeTimeoutMs));
    this.#cancelWrites.add(cancel);
    socket.send(encodeMessage(message), () => {
      cancel();
      this.#cancelWrites.delete(cancel);
    });
  }

  /** As ws would do it, but noting when the handshake is over: what ends a connection after it is not the network. */
  #secure(material: TLSMaterial): TLSSocket {
    const { host, port } = this.#options.address;
    const socket = connect({ ...tlsOptions(material), host, port, servername: isIP(host) === 0 ? host : "" });
    return socket.once("secureConnect", () => {
      this.#isSecured = true;
    });
  }

  /**
   * Reads no more until `resume`; what was read already still comes. The server's patience goes on: its pings are not
   * answered meanwhile.
   */
  pause(): void {
    this.#isPaused = true;
    this.#stopReading();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#goOnReading();
  }

  /** As `pause`, but not one message more is handed over until `release`. */
  hold(): void {
    this.#isHeld = true;
    this.#stopReading();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const { data, isBinary } of this.#heldMessages.splice(0)) if (!this.#isLost) this.#receive(data, isBinary);
    this.#goOnReading();
  }

  /** The server says how often it pings: it may be silent for that long, whatever `readTimeoutMs` is. */
  expectPings(intervalMs: number): void {
    // A timer that runs looks again before it ends anything.
    this.#readTimeoutMs = Math.max(
      this.#options.readTimeoutMs,
      PINGS_MISSED * Math.min(intervalMs, MAX_PING_INTERVAL_MS),
    );
  }

  /** Ends the connection without a call of `onLost`. */
  close(): void {
    if (this.#isLost) return;
    this.#finish();
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.close(1000);
    this.#socket?.terminate();
  }

  #stopReading(): void {
    if (this.#isLost) return;
    this.#cancelRead?.();
    this.#cancelRead = undefined;
    this.#socket?.pause();
  }

  #goOnReading(): void {
    if (this.#isLost || this.#isPaused || this.#isHeld) return;
    this.#lastMessageMs = this.#options.clock.monotonicMs();
    this.#armRead();
    this.#socket?.resume();
  }

  #listen(socket: WebSocket): void {
    socket.on("open", () => {
      if (this.#isLost) return;
      this.#cancelDial?.();
      this.#cancelDial = undefined;
      this.#lastMessageMs = this.#options.clock.monotonicMs();
      this.#armRead();
      this.#options.onOpen();
    });
    socket.on("message", (data, isBinary) => {
      if (this.#isLost) return;
      if (this.#isHeld) this.#heldMessages.push({ data: data as Buffer, isBinary });
      else this.#receive(data as Buffer, isBinary);
    });
    // Errors before and after the opening come here; a close follows each.
    socket.on("error", (cause) => this.#lose(this.#socketError(cause)));
    socket.on("close", (code, reason) => {
      const why = reason.length === 0 ? `code ${code}` : `code ${code}, ${reason.toString("utf8")}`;
      this.#lose(new SyncClientError("SYNC_CLIENT_CLOSED", `Server ${this.#where} closed the connection, ${why}`));
    });
  }

  #socketError(cause: Error): SyncClientError {
    if (this.#cancelDial !== undefined) return dialError(cause, this.#where, this.#isSecured);
    // What ws refuses to read: a frame over the bound, one that breaks RFC 6455.
    if ("code" in cause && String(cause.code).startsWith("WS_ERR_")) return protocolError(this.#where, cause);
    return new SyncClientError("SYNC_CLIENT_CLOSED", `Connection to ${this.#where} failed: ${messageOf(cause)}`, {
      cause,
    });
  }

  #receive(data: Buffer, isBinary: boolean): void {
    this.#lastMessageMs = this.#options.clock.monotonicMs();
    try {
      if (!isBinary) throw new SyncClientError("SYNC_CLIENT_PROTOCOL", "Server sent a text message");
      this.#options.onMessage(decodeServerMessage(data));
    } catch (error) {
      if (error instanceof SyncClientError) this.#lose(error);
      else if (error instanceof ProtoError) this.#lose(protocolError(this.#where, error));
      else throw error;
    }
  }

  /** One timer that looks how long the silence is, in place of one per message. */
  #armRead(): void {
    const { clock } = this.#options;
    const readTimeoutMs = this.#readTimeoutMs;
    const silentMs = clock.monotonicMs() - this.#lastMessageMs;
    if (silentMs >= readTimeoutMs) {
      this.#timeOut("read", readTimeoutMs);
      return;
    }
    this.#cancelRead?.();
    this.#cancelRead = clock.after(readTimeoutMs - silentMs, () => this.#armRead());
  }

  #timeOut(phase: "dial" | "read" | "write", limitMs: number): void {
    const what = { dial: "did not answer", read: "was silent", write: "took no data" }[phase];
    this.#lose(
      new SyncClientError("SYNC_CLIENT_TIMEOUT", `Server ${this.#where} ${what} for ${limitMs} ms`, {
        data: { phase, limitMs },
      }),
    );
  }

  #lose(error: Error): void {
    if (this.#isLost) return;
    this.#finish();
    const socket = this.#socket;
    if (socket?.readyState === WebSocket.OPEN && error instanceof SyncClientError)
      socket.close(
        error.code === "SYNC_CLIENT_PROTOCOL" ? CLOSE_PROTOCOL_ERROR : CLOSE_GOING_AWAY,
        Buffer.from(error.code).subarray(0, MAX_CLOSE_REASON).toString(),
      );
    socket?.terminate();
    this.#options.onLost(error);
  }

  #finish(): void {
    this.#isLost = true;
    this.#cancelDial?.();
    this.#cancelRead?.();
    for (const cancel of this.#cancelWrites) cancel();
    this.#cancelWrites.clear();
  }
}

function protocolError(where: string, cause: Error): SyncClientError {
  return new SyncClientError("SYNC_CLIENT_PROTOCOL", `Bad message from ${where}: ${cause.message}`, { cause });
}
