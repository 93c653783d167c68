import type { Socket } from "node:net";
import { encodeMessage, PROTOCOL_VERSION, type ServerMessage, type SyncerType } from "@bulrush/proto";
import type { ServerAddress } from "@bulrush/sync-client";
import { type Dialer, upgradeRequest } from "./dialer.ts";
import type { FrameDecoder } from "./frame-decoder.ts";
import { FrameReader, maskedFrame, OPCODE_BINARY, OPCODE_PING } from "./frame-reader.ts";
import type { BadWay } from "./load-plan.ts";
import type { LoadRecord } from "./load-record.ts";

/** From the end of one connection to the next. */
const REST_MS = 1000;
/** How far a connection gets before it goes wrong; each time another. */
const STAGES = ["tcp", "tls", "upgrade", "hello"] as const;
type Stage = (typeof STAGES)[number];
/** Pings of a flood, each time it is called. */
const FLOOD_PINGS = 1000;
/** The begin of a TLS record with a ClientHello that does not end (RFC 8446 section 5.1). */
const HALF_CLIENT_HELLO = Buffer.from("16030100f8010000f40303", "hex");

export interface BadClientOptions {
  readonly way: BadWay;
  readonly name: string;
  readonly server: ServerAddress;
  readonly dialer: Dialer;
  readonly decoder: FrameDecoder;
  readonly syncer: SyncerType;
  readonly record: LoadRecord;
  readonly random: () => number;
  readonly slowBytesPerSecond: number;
}

/** A client that is a burden, over and over: when the server ends it, the reason is counted, and it comes again. */
export class BadClient {
  readonly #options: BadClientOptions;
  #socket: Socket | undefined;
  #dialAtMs = 0;
  #lives = 0;
  #lastReadMs = 0;
  /** The server's last word. */
  #word: string | undefined;

  constructor(options: BadClientOptions) {
    this.#options = options;
  }

  /** Called several times a second. True if it dialled. */
  tick(nowMs: number, mayDial: boolean): boolean {
    const socket = this.#socket;
    if (socket !== undefined) {
      if (this.#options.way === "slow-reader") this.#readSlowly(socket, nowMs);
      if (this.#options.way === "flood" && !socket.writableNeedDrain) this.#flood(socket);
      return false;
    }
    if (!mayDial || nowMs < this.#dialAtMs) return false;
    this.#dial(nowMs);
    return true;
  }

  stop(): void {
    this.#dialAtMs = Number.POSITIVE_INFINITY;
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  #dial(nowMs: number): void {
    const { way, dialer, server } = this.#options;
    const stage = STAGES[this.#lives++ % STAGES.length] as Stage;
    const isEarly = way === "garbage" || way === "half-open";
    this.#word = undefined;
    this.#lastReadMs = nowMs;
    const socket: Socket =
      isEarly && stage === "tcp" && dialer.isSecure
        ? dialer.dialPlain(server, () => this.#misbehaveEarly(socket, stage))
        : dialer.dial(server, () => this.#go(socket, stage));
    this.#socket = socket;
    socket.on("error", (error) => {
      if (this.#word === undefined) this.#word = "code" in error ? String(error.code) : error.message;
    });
    socket.on("close", () => this.#onClose(socket));
  }

  /** TLS is done. */
  #go(socket: Socket, stage: Stage): void {
    const { way, server } = this.#options;
    const isEarly = way === "garbage" || way === "half-open";
    if (isEarly && (stage === "tcp" || stage === "tls")) {
      this.#misbehaveEarly(socket, stage);
      return;
    }
    socket.write(upgradeRequest(server));
    if (way === "black-hole") {
      // Its kernel takes what fits into its buffers, and that is the last that the server hears of it.
      this.#hello(socket);
      socket.pause();
      return;
    }
    if (stage !== "upgrade" || !isEarly) this.#hello(socket);
    if (isEarly) this.#misbehaveEarly(socket, stage);
    if (way === "slow-reader") socket.on("readable", () => {});
    else this.#listen(socket);
  }

  #misbehaveEarly(socket: Socket, stage: Stage): void {
    const { way } = this.#options;
    if (stage === "tcp" || stage === "tls") socket.resume();
    if (way === "garbage") {
      const bytes = Buffer.from(Array.from({ length: 4000 }, () => Math.floor(this.#options.random() * 256)));
      socket.write(stage === "hello" ? maskedFrame(bytes) : bytes);
    } else if (stage === "tcp") socket.write(HALF_CLIENT_HELLO);
    else if (stage === "tls") socket.write("GET /v1/sync HT");
    // After the upgrade, and after a hello, half of a frame.
    else socket.write(maskedFrame(Buffer.alloc(200)).subarray(0, 100));
  }

  #hello(socket: Socket): void {
    const { name, syncer } = this.#options;
    const hello = {
      type: "hello",
      version: PROTOCOL_VERSION,
      hostname: name,
      syncer,
      info: "bad",
      clientId: name,
    } as const;
    socket.write(maskedFrame(encodeMessage(hello)));
  }

  #flood(socket: Socket): void {
    const ping = maskedFrame(Buffer.from("flood"), OPCODE_PING);
    socket.write(Buffer.concat(Array.from({ length: FLOOD_PINGS }, () => ping)));
  }

  /** Only for what the server says in the end. */
  #listen(socket: Socket): void {
    const take = this.#reader(socket);
    socket.on("data", (chunk) => take(chunk));
  }

  #readSlowly(socket: Socket, nowMs: number): void {
    const budget = ((nowMs - this.#lastReadMs) / 1000) * this.#options.slowBytesPerSecond;
    const chunk = socket.read(Math.min(Math.floor(budget), socket.readableLength)) as Buffer | null;
    if (chunk === null || chunk.length === 0) return;
    this.#lastReadMs = nowMs;
    this.#slowReader ??= this.#reader(socket);
    this.#slowReader(chunk);
  }

  #slowReader: ((chunk: Buffer) => void) | undefined;

  /** Reads what follows the answer to the upgrade: answers pings, keeps the last word. */
  #reader(socket: Socket): (chunk: Buffer) => void {
    const frames = new FrameReader();
    let head: Buffer | undefined = Buffer.alloc(0);
    return (chunk) => {
      let rest = chunk;
      if (head !== undefined) {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        if (!head.includes("HTTP/1.1 101")) this.#word = head.toString("latin1", 0, 12).replace("/1.1", "");
        rest = head.subarray(end + 4);
        head = undefined;
      }
      try {
        frames.push(rest, (opcode, frame) => {
          if (opcode === OPCODE_BINARY) this.#onMessage(socket, this.#options.decoder.decode(frame));
        });
      } catch {
        // What cannot be read is no word.
      }
    };
  }

  #onMessage(socket: Socket, message: ServerMessage): void {
    if (message.type === "ping")
      socket.write(maskedFrame(encodeMessage({ type: "pong", pingSentAtMs: message.sentAtMs })));
    if (message.type === "reject" || message.type === "goodbye") this.#word = `${message.type} ${message.code}`;
  }

  #onClose(socket: Socket): void {
    if (this.#socket !== socket) return;
    const { way, record } = this.#options;
    this.#socket = undefined;
    this.#slowReader = undefined;
    this.#dialAtMs = Date.now() + REST_MS;
    record.countBadEnding(way, this.#word ?? "closed");
  }
}
