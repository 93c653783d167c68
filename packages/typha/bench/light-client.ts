import { once } from "node:events";
import type { OnReadOpts } from "node:net";
import { connect, type ConnectionOptions, createSecureContext, type TLSSocket } from "node:tls";
import { decodeServerMessage, encodeMessage, SYNC_PATH, SYNC_SUBPROTOCOL } from "@bulrush/proto";
import { clientTls, testHello } from "../src/testing/websocket-client.ts";

/** What a light client tells of. */
export interface LightClientHandlers {
  /** A frame of a delta, or another that is not large. It may be read until the call returns. */
  onFrame(frame: Buffer): void;
}

export interface LightClient {
  /** Bytes that came: of the websocket, without those of TLS. */
  readonly received: () => number;
  /** The snapshot has been read whole. */
  readonly inSync: Promise<void>;
  close(): void;
}

/** Pings and statuses are smaller than this, deltas are not. */
const SMALL_BYTES = 64;
/** Frames from this size on are counted and not looked at: chunks of a snapshot. */
const LARGE_BYTES = 16 * 1024;
const EMPTY: Buffer = Buffer.alloc(0);

const own = clientTls("client-cn");
const secureContext = createSecureContext({ ca: own.ca, cert: own.cert, key: own.key });
/** Every socket of the process reads into it: what has been read is looked at at once. */
const readBuffer = Buffer.alloc(64 * 1024);

/** A lost connection would leave a lock-step waiting for ever. */
function onLost(): void {
  process.stderr.write("A bench connection was lost\n");
  process.exit(1);
}

/** A connection of a bench's client. `onBytes`: what came; it may be read until the call returns. */
export function dialBench(port: number, onBytes: (bytes: Buffer) => void): TLSSocket {
  const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
    port,
    host: "127.0.0.1",
    secureContext,
    checkServerIdentity: () => undefined,
    onread: {
      buffer: readBuffer,
      callback: (count, bytes) => {
        onBytes((bytes as Buffer).subarray(0, count));
        return true;
      },
    },
  };
  const socket = connect(options);
  socket.setNoDelay(true);
  socket.on("close", onLost);
  return socket;
}

/**
 * A websocket client of few words: enough to be served, and to see each frame. It costs its process less than the server
 * spends on it, so that a thousand of them fit on one core. Resolves once the upgrade is answered.
 */
export async function dialLight(port: number, name: string, handlers: LightClientHandlers): Promise<LightClient> {
  const ready = Promise.withResolvers<void>();
  const upgraded = Promise.withResolvers<void>();
  let received = 0;
  let head: Buffer | undefined = EMPTY;
  const socket = dialBench(port, (bytes) => {
    received += bytes.length;
    if (head === undefined) {
      reader.take(bytes);
      return;
    }
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    const rest = head.subarray(end + 4);
    head = undefined;
    upgraded.resolve();
    reader.take(rest);
  });
  const reader = new FrameReader((frame) => {
    if (frame.length >= SMALL_BYTES) handlers.onFrame(frame);
    else if (frame.includes("in-sync")) ready.resolve();
    else answerPing(socket, frame);
  });
  await once(socket, "secureConnect");
  socket.write(
    `GET ${SYNC_PATH} HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Protocol: ${SYNC_SUBPROTOCOL}\r\n\r\n`,
  );
  await upgraded.promise;
  socket.write(maskedFrame(encodeMessage(testHello(name))));
  const close = (): void => {
    socket.off("close", onLost);
    socket.destroy();
  };
  return { received: () => received, inSync: ready.promise, close };
}

function answerPing(socket: TLSSocket, frame: Buffer): void {
  const message = decodeServerMessage(frame);
  if (message.type === "ping")
    socket.write(maskedFrame(encodeMessage({ type: "pong", pingSentAtMs: message.sentAtMs })));
}

/** A client's frame with a mask of zeros (RFC 6455 section 5.3). */
function maskedFrame(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x82, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}

/** Finds the frames in what comes; large ones are left out without a copy. */
class FrameReader {
  readonly #onFrame: (frame: Buffer) => void;
  /** The beginning of a frame. */
  #rest: Buffer = EMPTY;
  /** So much of a large frame is still to come. */
  #skip = 0;

  constructor(onFrame: (frame: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  take(bytes: Buffer): void {
    const skipped = Math.min(this.#skip, bytes.length);
    this.#skip -= skipped;
    if (skipped === bytes.length) return;
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes;
    let at = skipped;
    for (;;) {
      const taken = this.#frame(data, at);
      if (taken === 0) break;
      at += taken;
    }
    this.#rest = at < data.length ? Buffer.from(data.subarray(at)) : EMPTY;
  }

  /** Takes the frame that begins at `at`, if it is there, and gives its size. */
  #frame(data: Buffer, at: number): number {
    const left = data.length - at;
    if (left < 2) return 0;
    const short = data[at + 1] as number;
    const header = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (left < header) return 0;
    const length =
      short < 126 ? short : short === 126 ? data.readUInt16BE(at + 2) : Number(data.readBigUInt64BE(at + 2));
    const whole = header + length;
    if (length >= LARGE_BYTES) {
      this.#skip = Math.max(0, whole - left);
      return Math.min(whole, left);
    }
    if (left < whole) return 0;
    this.#onFrame(data.subarray(at + header, at + whole));
    return whole;
  }
}
