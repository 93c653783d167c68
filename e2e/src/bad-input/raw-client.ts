import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { decodeServerMessage, type ServerMessage, SYNC_PATH, SYNC_SUBPROTOCOL } from "@bulrush/proto";
import { SYNC_PORT } from "../lab/cluster.ts";
import type { Identity } from "../lab/certificates.ts";
import { FABRIC_ADDRESS } from "../lab/network.ts";

/** Opcodes of RFC 6455 section 5.2. */
const OPCODE_TEXT = 1;
const OPCODE_BINARY = 2;

export interface FrameOptions {
  readonly opcode?: number;
  /** A client must mask; a bad one does not. */
  readonly isMasked?: boolean;
  /** What the header says; default: the truth. */
  readonly length?: number;
}

/** A websocket frame as a client sends it (RFC 6455 section 5.2), or nearly so. */
export function clientFrame(payload: Uint8Array, options: FrameOptions = {}): Buffer {
  const { opcode = OPCODE_BINARY, isMasked = true, length = payload.length } = options;
  const mask = isMasked ? randomBytes(4) : Buffer.alloc(0);
  const head = [0x80 | opcode, (isMasked ? 0x80 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127)];
  const size = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8);
  if (size.length === 2) size.writeUInt16BE(length);
  if (size.length === 8) size.writeBigUInt64BE(BigInt(length));
  const body = isMasked ? payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0)) : payload;
  return Buffer.concat([Buffer.from(head), size, mask, body]);
}

export const textFrame = (text: string): Buffer => clientFrame(Buffer.from(text), { opcode: OPCODE_TEXT });

export interface UpgradeOptions {
  readonly method?: string;
  readonly path?: string;
  readonly protocol?: string;
  readonly upgrade?: string;
  readonly more?: string;
}

/** The HTTP request that a sync client begins with, or nearly so. */
export function upgradeRequest(options: UpgradeOptions = {}): string {
  const { method = "GET", path = SYNC_PATH, protocol = SYNC_SUBPROTOCOL, upgrade = "websocket", more = "" } = options;
  return (
    `${method} ${path} HTTP/1.1\r\nHost: typha\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n` +
    `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n` +
    `Sec-WebSocket-Protocol: ${protocol}\r\n${more}\r\n`
  );
}

/** A connection to the sync port by hand: sends what it is told, and keeps what comes back. */
export class RawClient {
  /** This end, as a server names its peer. */
  readonly name: string;
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.name = `${socket.localAddress}:${socket.localPort}`;
    socket.on("data", (chunk) => (this.#received = Buffer.concat([this.#received, chunk])));
    socket.on("error", () => undefined);
    this.closed = once(socket, "close").then(() => undefined);
  }

  static async plain(port: number = SYNC_PORT): Promise<RawClient> {
    const socket = connect({ host: FABRIC_ADDRESS, port });
    await once(socket, "connect");
    return new RawClient(socket);
  }

  /** Does not look at the server's certificate, and shows this one, if any. */
  static async tls(identity: Identity | undefined): Promise<RawClient> {
    const own = identity === undefined ? {} : { cert: identity.certPem, key: identity.keyPem };
    const socket = connectTls({ host: FABRIC_ADDRESS, port: SYNC_PORT, rejectUnauthorized: false, ...own });
    await once(socket, "secureConnect");
    return new RawClient(socket);
  }

  send(bytes: Buffer | string): void {
    this.#socket.write(bytes);
  }

  hangUp(): void {
    this.#socket.end();
  }

  /** Resolves when the answer to the upgrade is there. */
  async upgraded(request: string = upgradeRequest()): Promise<void> {
    this.send(request);
    while (!this.#received.includes("\r\n\r\n") && !this.#socket.closed) await once(this.#socket, "data");
  }

  /** Resolves when the whole snapshot and its status are there. */
  async following(): Promise<void> {
    while (!this.messages.some(({ type }) => type === "status") && !this.#socket.closed)
      await once(this.#socket, "data");
  }

  /** The status line of the HTTP answer. */
  get statusLine(): string {
    return this.#received.toString("latin1").split("\r\n", 1)[0] ?? "";
  }

  /** What came in whole websocket messages after the upgrade. */
  get messages(): readonly ServerMessage[] {
    const messages: ServerMessage[] = [];
    let rest = this.#received.subarray(this.#received.indexOf("\r\n\r\n") + 4);
    while (rest.length >= 2) {
      const short = rest.readUInt8(1) & 127;
      const [start, length] =
        short < 126 ? [2, short] : short === 126 ? [4, rest.readUInt16BE(2)] : [10, Number(rest.readBigUInt64BE(2))];
      const payload = rest.subarray(start, start + length);
      if (payload.length < length) break;
      if ((rest.readUInt8(0) & 15) === OPCODE_BINARY) messages.push(decodeServerMessage(payload));
      rest = rest.subarray(start + length);
    }
    return messages;
  }
}
