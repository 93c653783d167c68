import { decodeServerMessage, encodeMessage, type ClientMessage, type ServerMessage } from "@bulrush/proto";
import type { Breach, Transport, TransportHandlers } from "../server/transport.ts";

/**
 * A client's end of a connection without sockets. What the server writes is taken in when the reader reads; a reader
 * that does not read leaves one write in flight.
 */
export class FakeTransport implements Transport {
  readonly peer: string;
  /** Set: every write is taken at once (after a turn). */
  reading = true;
  /** How many frames were written together, per write. */
  readonly writes: number[] = [];
  #handlers: TransportHandlers | undefined = undefined;
  #waiting: (() => void) | undefined = undefined;
  readonly #received: string[] = [];
  readonly messages: ServerMessage[] = [];
  closed = false;

  constructor(peer: string) {
    this.peer = peer;
  }

  start(handlers: TransportHandlers): void {
    this.#handlers = handlers;
  }

  write(frames: readonly Buffer[], done: () => void): void {
    if (this.#waiting !== undefined) throw new Error("A second write is in flight");
    if (this.closed) throw new Error("Written after the close");
    this.writes.push(frames.length);
    this.#waiting = () => {
      this.#take(Buffer.concat(frames));
      done();
    };
    if (this.reading) setImmediate(() => this.#flush());
  }

  end(frame: Buffer, closeCode: number): void {
    if (this.#waiting !== undefined) throw new Error("The last word overtakes a write");
    this.#take(frame);
    this.#close(`close ${closeCode}`);
  }

  destroy(): void {
    this.#close("cut");
  }

  // What the client does.

  send(message: ClientMessage): void {
    this.sendBytes(encodeMessage(message));
  }

  sendBytes(bytes: Uint8Array, binary: boolean = true): void {
    this.#handlers?.onMessage(bytes, binary);
  }

  control(): void {
    this.#handlers?.onControl();
  }

  breach(breach: Breach): void {
    const frame = this.#handlers?.onBreach(breach, "test");
    if (frame !== undefined) this.#take(frame);
  }

  hangUp(): void {
    this.#close("hung up");
  }

  /** Reads what waits, and goes on reading. */
  read(): void {
    this.reading = true;
    this.#flush();
  }

  /** What came since the last call, one line each. */
  takeReceived(): string[] {
    return this.#received.splice(0);
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (!this.closed) waiting?.();
  }

  #take(bytes: Buffer): void {
    for (const message of splitFrames(bytes)) {
      this.messages.push(message);
      this.#received.push(formatReceived(message));
    }
  }

  #close(how: string): void {
    if (this.closed) return;
    this.closed = true;
    this.#received.push(`[${how}]`);
    this.#handlers?.onClose();
  }
}

/** Reads a row of unmasked websocket frames (RFC 6455 section 5.2). */
function splitFrames(bytes: Buffer): ServerMessage[] {
  const messages: ServerMessage[] = [];
  for (let at = 0; at < bytes.length; ) {
    const short = bytes.readUInt8(at + 1);
    const header = short < 126 ? 2 : short === 126 ? 4 : 10;
    const length =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    messages.push(decodeServerMessage(bytes.subarray(at + header, at + header + length)));
    at += header + length;
  }
  return messages;
}

/** A message in a line, without what changes from run to run. */
function formatReceived(message: ServerMessage): string {
  switch (message.type) {
    case "welcome":
      return `welcome ${message.resume} from ${message.sequence}, epoch ${message.epoch}, ${message.syncer}${
        message.buckets === undefined ? "" : `, buckets ${message.buckets.join() || "none"}`
      }${message.staleSinceMs === undefined ? "" : `, stale since ${message.staleSinceMs}`}${
        message.pingIntervalMs === undefined ? "" : `, a ping each ${message.pingIntervalMs} ms`
      }`;
    case "snapshot":
      return `snapshot ${message.kvs.map((kv) => `${kv.path}=${String(kv.value)}`).join(" ")}`;
    case "snapshot-end":
      return `snapshot-end at ${message.sequence}, ${message.count} keys`;
    case "delta":
      return `delta to ${message.sequence}: ${message.kvs.map((kv) => `${kv.path}=${String(kv.value)}`).join(" ")}`;
    case "status":
      return `status ${message.status} at ${message.sequence}`;
    case "ping":
      return `ping at ${message.sequence}, upstream ${message.upstreamAgeMs} ms old${
        message.staleSinceMs === undefined ? "" : `, stale since ${message.staleSinceMs}`
      }`;
    case "reject":
    case "goodbye":
      return `${message.type} ${message.code}: ${message.reason} (retry after ${message.retryAfterMs} ms${
        message.peers.length === 0 ? "" : `; or ${message.peers.join(" ")}`
      })`;
    default:
      return "?";
  }
}
