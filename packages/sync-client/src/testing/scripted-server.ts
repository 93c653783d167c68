import assert from "node:assert/strict";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import {
  type ClientMessage,
  decodeClientMessage,
  frameMessage,
  type ServerMessage,
  SYNC_PATH,
  SYNC_SUBPROTOCOL,
} from "@bulrush/proto";
import { type WebSocket, WebSocketServer } from "ws";
import type { ServerAddress } from "../server-address.ts";

export interface ServerTLS {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** What does not come in this time does not come: no test waits so long, on a busy machine neither. */
const LIMIT_MS = 60_000;

/** For tests: a sync server that does what it is told, over a real websocket. */
export class ScriptedServer {
  readonly #server: HttpServer;
  readonly #connections = new Mailbox<Peer>();
  readonly #sockets = new Set<Socket>();
  accepted = 0;

  private constructor(server: HttpServer) {
    this.#server = server;
    const websockets = new WebSocketServer({ server, path: SYNC_PATH, perMessageDeflate: false });
    websockets.on("connection", (websocket, request) => {
      assert.equal(websocket.protocol, SYNC_SUBPROTOCOL);
      this.accepted++;
      this.#connections.put(new Peer(websocket, request.socket));
    });
    const keep = (socket: Socket): void => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => undefined);
    };
    server.on("connection", keep);
    server.on("tlsClientError", () => undefined);
  }

  static async start(tls?: ServerTLS): Promise<ScriptedServer> {
    const server =
      tls === undefined
        ? createHttpServer()
        : createHttpsServer({ ...tls, requestCert: true, rejectUnauthorized: true });
    const scripted = new ScriptedServer(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return scripted;
  }

  get address(): ServerAddress {
    return { host: "127.0.0.1", port: (this.#server.address() as AddressInfo).port };
  }

  /** The next connection, in order of arrival. */
  accept(): Promise<Peer> {
    return this.#connections.take("a connection");
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The server's side of one connection. */
export class Peer {
  readonly websocket: WebSocket;
  readonly socket: Socket;
  readonly #messages = new Mailbox<ClientMessage>();
  /** Resolves with the close code. */
  readonly closed: Promise<number>;

  constructor(websocket: WebSocket, socket: Socket) {
    this.websocket = websocket;
    this.socket = socket;
    websocket.on("message", (data) => this.#messages.put(decodeClientMessage(data as Buffer)));
    websocket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      websocket.on("close", resolve);
    });
  }

  /** The next message, which must be of this type. */
  async next<Type extends ClientMessage["type"]>(type: Type): Promise<ClientMessage & { type: Type }> {
    const message = await this.#messages.take(`a message ${type}`);
    assert.equal(message.type, type);
    return message as ClientMessage & { type: Type };
  }

  /** As a server sends: the shared frame straight to the socket. */
  send(...messages: readonly ServerMessage[]): void {
    for (const message of messages) this.socket.write(frameMessage(message));
  }
}

/** Things that come, and those who wait for them. */
class Mailbox<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];

  put(item: T): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#items.push(item);
    else waiting(item);
  }

  take(what: string): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Waited in vain for ${what}`)), LIMIT_MS);
      this.#waiting.push((arrived) => {
        clearTimeout(timer);
        resolve(arrived);
      });
    });
  }
}

/** Lets sockets work until `condition` holds. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + LIMIT_MS;
  while (!condition()) {
    assert.ok(performance.now() < endMs, `Waited in vain until ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
