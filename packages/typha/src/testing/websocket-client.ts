import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { WebSocket } from "ws";
import {
  type ClientMessage,
  decodeServerMessage,
  encodeMessage,
  type Hello,
  PROTOCOL_VERSION,
  type ServerMessage,
  SYNC_PATH,
  SYNC_SUBPROTOCOL,
} from "@bulrush/proto";

/** A client on a real socket, for tests: keeps what comes, and lets the test wait for it. */
export interface TestClient {
  readonly messages: ServerMessage[];
  readonly socket: WebSocket;
  send(message: ClientMessage): void;
  /** The first message of this type, now or later; rejects when the connection closes without one. */
  next<T extends ServerMessage["type"]>(type: T): Promise<Extract<ServerMessage, { type: T }>>;
  /** The first message for which `test` holds, now or later; rejects like `next`. */
  when(test: (message: ServerMessage) => boolean): Promise<ServerMessage>;
  /** Why the connection ended: close code, or the error before any. */
  readonly closed: Promise<{ readonly code: number; readonly error: Error | undefined }>;
}

/** Dials, and says hello if there is one. */
export function dial(port: number, tls: ConnectionOptions | undefined, hello?: Hello): TestClient {
  const scheme = tls === undefined ? "ws" : "wss";
  const socket = new WebSocket(`${scheme}://127.0.0.1:${port}${SYNC_PATH}`, SYNC_SUBPROTOCOL, {
    perMessageDeflate: false,
    ...tls,
  });
  const messages: ServerMessage[] = [];
  const waiters = new Set<() => void>();
  let isClosed = false;
  let error: Error | undefined;
  const wake = (): void => {
    for (const waiter of waiters) waiter();
  };
  const { promise: closed, resolve } = Promise.withResolvers<{ code: number; error: Error | undefined }>();
  socket.on("open", () => {
    if (hello !== undefined) socket.send(encodeMessage(hello));
  });
  socket.on("message", (data) => {
    messages.push(decodeServerMessage(data as Buffer));
    wake();
  });
  socket.on("error", (cause) => (error = cause));
  socket.on("close", (code) => {
    isClosed = true;
    resolve({ code, error });
    wake();
  });
  const when = (test: (message: ServerMessage) => boolean, what: string = "match"): Promise<ServerMessage> =>
    new Promise((found, reject) => {
      const look = (): void => {
        const message = messages.find(test);
        if (message === undefined && !isClosed) return;
        waiters.delete(look);
        if (message !== undefined) found(message);
        else reject(new Error(`Closed without a ${what}: ${String(error?.message)}`));
      };
      waiters.add(look);
      look();
    });
  return {
    messages,
    socket,
    closed,
    send: (message) => socket.send(encodeMessage(message)),
    when,
    next: async <T extends ServerMessage["type"]>(type: T) =>
      (await when((message) => message.type === type, type)) as Extract<ServerMessage, { type: T }>,
  };
}

export function testHello(hostname: string): Hello {
  return { type: "hello", version: PROTOCOL_VERSION, hostname, syncer: "felix", info: "test", clientId: hostname };
}

/** Path of a file among the test certificates. */
export function certificateFile(name: string): string {
  return new URL(`certificates/${name}`, import.meta.url).pathname;
}

/** TLS settings of a client with one of the test certificates, or with none. */
export function clientTls(name: string | undefined): ConnectionOptions {
  const ca = readFileSync(certificateFile("ca.crt"));
  const own =
    name === undefined
      ? {}
      : { cert: readFileSync(certificateFile(`${name}.crt`)), key: readFileSync(certificateFile(`${name}.key`)) };
  return { ca, ...own, checkServerIdentity: () => undefined };
}
