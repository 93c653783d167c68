import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { decodeClientMessage, frameMessage, type Hello, type ServerMessage, SYNC_SUBPROTOCOL } from "@bulrush/proto";
import type { Identity } from "../lab/certificates.ts";
import { FABRIC_ADDRESS } from "../lab/network.ts";

/** RFC 6455 section 1.3. */
const HANDSHAKE_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** What a server does with one connection. */
export type Behaviour =
  /** Speaks before any TLS. */
  | { readonly at: "tcp"; readonly act: (socket: Socket) => void }
  /** Answers the HTTP request. */
  | { readonly at: "http"; readonly act: (socket: Socket) => void }
  /** After a good upgrade and the client's hello. */
  | { readonly at: "hello"; readonly act: (connection: FakeConnection) => void };

export interface FakeServerOptions {
  readonly port: number;
  readonly identity: Identity;
  readonly caFile: string;
  readonly behaviour: Behaviour;
}

/** The server's side of a websocket, by hand. */
export class FakeConnection {
  readonly hello: Hello;
  readonly #socket: Socket;

  constructor(socket: Socket, hello: Hello) {
    this.#socket = socket;
    this.hello = hello;
  }

  send(...messages: readonly ServerMessage[]): this {
    for (const message of messages) this.#socket.write(frameMessage(message));
    return this;
  }

  /** Bytes as they are, in no frame. */
  sendRaw(bytes: Buffer): this {
    this.#socket.write(bytes);
    return this;
  }

  /** Ends the connection once everything is sent. */
  end(): void {
    this.#socket.end();
  }
}

/** A server that speaks to sync clients as far as it is told to. */
export class FakeServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => this.#sockets.delete(socket));
    });
  }

  static async start({ port, identity, caFile, behaviour }: FakeServerOptions): Promise<FakeServer> {
    const server =
      behaviour.at === "tcp"
        ? createServer((socket) => behaviour.act(socket))
        : createTlsServer(
            { cert: identity.certPem, key: identity.keyPem, ca: readFileSync(caFile), requestCert: true },
            (socket) => {
              socket.on("error", () => undefined);
              void serve(socket, behaviour);
            },
          );
    const fake = new FakeServer(server);
    server.on("tlsClientError", () => undefined);
    server.listen(port, FABRIC_ADDRESS);
    await once(server, "listening");
    return fake;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function serve(socket: Socket, behaviour: Exclude<Behaviour, { at: "tcp" }>): Promise<void> {
  let received = Buffer.alloc(0);
  const until = async (isThere: () => boolean): Promise<boolean> => {
    while (!isThere()) {
      const [chunk] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as [Buffer | boolean];
      if (!Buffer.isBuffer(chunk)) return false;
      received = Buffer.concat([received, chunk]);
    }
    return true;
  };
  if (!(await until(() => received.includes("\r\n\r\n")))) return;
  if (behaviour.at === "http") {
    behaviour.act(socket);
    return;
  }
  const head = received.subarray(0, received.indexOf("\r\n\r\n")).toString("latin1");
  received = received.subarray(head.length + 4);
  const key = /^sec-websocket-key: *(\S+)/im.exec(head)?.[1] ?? "";
  const accept = createHash("sha1").update(`${key}${HANDSHAKE_GUID}`).digest("base64");
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${SYNC_SUBPROTOCOL}\r\n\r\n`,
  );
  // A hello is a masked frame of less than 64 KiB (RFC 6455 section 5.2).
  const start = (): number => (((received[1] ?? 0) & 127) === 126 ? 4 : 2);
  const length = (): number => (start() === 4 ? received.readUInt16BE(2) : (received[1] ?? 0) & 127);
  if (!(await until(() => received.length >= 4 && received.length >= start() + 4 + length()))) return;
  const mask = received.subarray(start(), start() + 4);
  const payload = received.subarray(start() + 4, start() + 4 + length()).map((byte, i) => byte ^ (mask[i % 4] ?? 0));
  const message = decodeClientMessage(payload);
  if (message.type === "hello") behaviour.act(new FakeConnection(socket, message));
}
