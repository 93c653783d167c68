import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * A port in front of a server, where the network between it and its clients can fail: connections end without a word, as
 * when a process is killed, or nothing passes any more, as when packets are dropped.
 *
 * Invariant: `#sockets` holds both sides of every open connection.
 */
export class TcpGate {
  readonly port: number;
  /** Where connections go; 0: they are refused. */
  target = 0;
  /** Bytes from the server to its clients. */
  servedBytes = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (client) => this.#onConnection(client));
  }

  static async open(): Promise<TcpGate> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TcpGate(server);
  }

  /** Ends all connections at once. */
  kill(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Nothing of what is open passes any more; newcomers do. */
  blackHole(): void {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.pause();
    }
  }

  close(): void {
    this.kill();
    this.#server.close();
  }

  #onConnection(client: Socket): void {
    if (this.target === 0) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(this.target, "127.0.0.1");
    upstream.on("data", (chunk) => {
      this.servedBytes += chunk.length;
    });
    const pairs: readonly (readonly [Socket, Socket])[] = [
      [client, upstream],
      [upstream, client],
    ];
    for (const [socket, other] of pairs) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.pipe(other);
      // The close follows.
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
