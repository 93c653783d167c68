import type { Socket } from "node:net";
import { Backoff } from "@bulrush/base";
import { encodeMessage, PROTOCOL_VERSION, type ServerMessage, type SyncerType } from "@bulrush/proto";
import type { ServerAddress } from "@bulrush/sync-client";
import { type Dialer, upgradeRequest } from "./dialer.ts";
import { type FrameDecoder, plainMessageNumber } from "./frame-decoder.ts";
import { FrameReader, maskedFrame, OPCODE_BINARY } from "./frame-reader.ts";
import type { LoadRecord } from "./load-record.ts";

/** From the dial to the first message, and the longest silence after it: as a real client has them. */
const DIAL_TIMEOUT_MS = 15_000;
const SILENCE_MS = 30_000;
/** The longest pause that a server's word brings. */
const MAX_PAUSE_MS = 60_000;
/** Number of a snapshot message (`proto/README.md`). */
const SNAPSHOT_NUMBER = 17;
const CODEC_ZSTD = 1;

export interface LightClientOptions {
  readonly name: string;
  readonly servers: readonly ServerAddress[];
  /** Which of them is tried first. */
  readonly first: number;
  readonly dialer: Dialer;
  readonly decoder: FrameDecoder;
  readonly syncer: SyncerType;
  readonly record: LoadRecord;
  readonly random: () => number;
  readonly isCold: boolean;
}

/** One connection, from the dial on. */
interface Stream {
  readonly socket: Socket;
  readonly reader: FrameReader;
  readonly dialledAtMs: number;
  heardAtMs: number;
  phase: "dial" | "upgrade" | "hello" | "snapshot" | "streaming";
  /** Of the answer to the upgrade. */
  head: Buffer;
  welcomedAtMs: number;
  isInSync: boolean;
  ackedSequence: number;
}

/**
 * A client of few words: enough to be served as an agent is, to see that nothing is left out, and to measure; but it
 * keeps nothing of what it is sent.
 *
 * ```
 *  waiting -> dial (TCP, TLS) -> upgrade -> hello -> [snapshot] -> streaming
 *     ^                                                   |  any end: counted by its reason
 *     +---------------------------------------------------+
 * ```
 * Invariant: `#place` is what was received last, of which epoch; it outlives connections.
 */
export class LightClient {
  readonly #options: LightClientOptions;
  readonly #backoff: Backoff;
  #server: number;
  #stream: Stream | undefined;
  /** When to dial; infinite until `start` and after `stop`. */
  #dialAtMs = Number.POSITIVE_INFINITY;
  #place: { readonly epoch: string; sequence: number } | undefined;

  constructor(options: LightClientOptions) {
    this.#options = options;
    this.#server = options.first;
    this.#backoff = new Backoff({ initialMs: 200, maxMs: 10_000 }, options.random);
  }

  get isInSync(): boolean {
    return this.#stream?.isInSync ?? false;
  }

  start(): void {
    this.#dialAtMs = 0;
  }

  stop(): void {
    this.#dialAtMs = Number.POSITIVE_INFINITY;
    this.#stream?.socket.destroy();
    this.#stream = undefined;
  }

  /** Ends the connection without a word, and dials again. */
  drop(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#stream = undefined;
    stream.socket.destroy();
    this.#options.record.countEnding("dropped by us");
    this.#dialAtMs = 0;
  }

  /** Called several times a second: dials when it is time to, and looks for silence. True if it dialled. */
  tick(nowMs: number, mayDial: boolean): boolean {
    const stream = this.#stream;
    if (stream === undefined) {
      if (!mayDial || nowMs < this.#dialAtMs) return false;
      this.#dial(nowMs);
      return true;
    }
    const limitMs = stream.phase === "dial" || stream.phase === "upgrade" ? DIAL_TIMEOUT_MS : SILENCE_MS;
    if (nowMs - stream.heardAtMs > limitMs) this.#end(stream, `silent during ${stream.phase}`);
    return false;
  }

  /** Says how far it is, if it got further. */
  ack(): void {
    const stream = this.#stream;
    const place = this.#place;
    if (stream?.phase !== "streaming" || place === undefined || place.sequence === stream.ackedSequence) return;
    stream.ackedSequence = place.sequence;
    stream.socket.write(maskedFrame(encodeMessage({ type: "ack", sequence: place.sequence })));
  }

  get #address(): ServerAddress {
    const { servers } = this.#options;
    return servers[this.#server % servers.length] as ServerAddress;
  }

  #dial(nowMs: number): void {
    const { dialer, record } = this.#options;
    record.dials++;
    const address = this.#address;
    const socket = dialer.dial(address, () => {
      stream.phase = "upgrade";
      socket.write(upgradeRequest(address));
    });
    const stream: Stream = {
      socket,
      reader: new FrameReader(),
      dialledAtMs: nowMs,
      heardAtMs: nowMs,
      phase: "dial",
      head: Buffer.alloc(0),
      welcomedAtMs: 0,
      isInSync: false,
      ackedSequence: -1,
    };
    this.#stream = stream;
    socket.on("data", (chunk) => {
      if (this.#stream === stream) this.#onData(stream, chunk);
    });
    socket.on("error", (error) => this.#end(stream, reasonOf(error)));
    socket.on("close", () => this.#end(stream, `closed during ${stream.phase}`));
  }

  #onData(stream: Stream, chunk: Buffer): void {
    const { record } = this.#options;
    record.bytes += chunk.length;
    stream.heardAtMs = Date.now();
    try {
      if (stream.phase === "upgrade") this.#onUpgrade(stream, chunk);
      else this.#onBytes(stream, chunk);
    } catch (error) {
      this.#end(stream, `unreadable: ${(error as Error).message}`);
    }
  }

  #onUpgrade(stream: Stream, chunk: Buffer): void {
    stream.head = Buffer.concat([stream.head, chunk]);
    const end = stream.head.indexOf("\r\n\r\n");
    if (end < 0) return;
    const status = stream.head.toString("latin1", 0, end).split(" ", 2)[1] ?? "";
    if (status !== "101") {
      this.#end(stream, `HTTP ${status}`);
      return;
    }
    const { name, syncer, isCold } = this.#options;
    stream.phase = "hello";
    const hello = encodeMessage({
      type: "hello",
      version: PROTOCOL_VERSION,
      hostname: name,
      syncer,
      info: "bulrush-sync-load",
      clientId: name,
      ...(this.#place !== undefined && !isCold && { resume: { ...this.#place } }),
    });
    stream.socket.write(maskedFrame(hello));
    const rest = stream.head.subarray(end + 4);
    stream.head = Buffer.alloc(0);
    if (rest.length > 0) this.#onBytes(stream, rest);
  }

  #onBytes(stream: Stream, chunk: Buffer): void {
    stream.reader.push(chunk, (opcode, frame) => {
      if (this.#stream !== stream || opcode !== OPCODE_BINARY) return;
      this.#options.record.messages++;
      // Between the welcome and the end of the snapshot nothing else is long enough to be compressed.
      const isChunk = frame[0] === CODEC_ZSTD || plainMessageNumber(frame) === SNAPSHOT_NUMBER;
      if (stream.phase === "snapshot" && isChunk) return;
      this.#onMessage(stream, this.#options.decoder.decode(frame));
    });
  }

  #onMessage(stream: Stream, message: ServerMessage): void {
    switch (message.type) {
      case "welcome":
        stream.welcomedAtMs = stream.heardAtMs;
        stream.phase = message.resume === "deltas" ? "streaming" : "snapshot";
        this.#place = { epoch: message.epoch, sequence: message.sequence };
        return;
      case "snapshot":
        return;
      case "snapshot-end":
        stream.phase = "streaming";
        this.#options.record.kvs += message.count;
        return;
      case "delta":
        this.#onDelta(stream, message);
        return;
      case "status":
        if (message.status === "in-sync" && !stream.isInSync) {
          stream.isInSync = true;
          this.#backoff.reset();
          this.#options.record.connect.record(stream.heardAtMs - stream.dialledAtMs);
        } else if (message.status !== "in-sync") stream.isInSync = false;
        return;
      case "ping":
        stream.socket.write(maskedFrame(encodeMessage({ type: "pong", pingSentAtMs: message.sentAtMs })));
        return;
      case "reject":
      case "goodbye":
        this.#end(stream, `${message.type} ${message.code}`, message.retryAfterMs);
    }
  }

  #onDelta(stream: Stream, delta: Extract<ServerMessage, { readonly type: "delta" }>): void {
    const { record } = this.#options;
    const place = this.#place;
    if (place?.sequence !== delta.fromSequence) {
      record.gaps++;
      this.#place = undefined;
      this.#end(stream, "gap");
      return;
    }
    place.sequence = delta.sequence;
    record.kvs += delta.kvs.length;
    // What was there before the client says nothing of the way to it.
    if (delta.seenAtMs >= stream.welcomedAtMs && delta.kvs.length > 0)
      record.latency.record(stream.heardAtMs - delta.seenAtMs);
  }

  /** Counts the end of a connection, and settles when the next begins: with another server, if there is one. */
  #end(stream: Stream, why: string, pauseMs = 0): void {
    if (this.#stream !== stream) return;
    const { servers, record } = this.#options;
    this.#stream = undefined;
    stream.socket.destroy();
    record.countEnding(why);
    this.#server++;
    const ownMs = this.#backoff.nextMs();
    const toldMs = servers.length > 1 ? 0 : Math.min(pauseMs, MAX_PAUSE_MS);
    this.#dialAtMs = Date.now() + Math.max(ownMs, toldMs);
  }
}

/** The system's code, or OpenSSL's, or the words. */
function reasonOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : error.message;
}
