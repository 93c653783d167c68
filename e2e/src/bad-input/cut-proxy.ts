import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { SYNC_PORT } from "../lab/cluster.ts";
import { FABRIC_ADDRESS } from "../lab/network.ts";

export interface CutProxyOptions {
  /** Where it listens. Default: the fabric's address. */
  readonly host?: string;
  /** Where it leads to. Default: the sync port. */
  readonly target?: { readonly host: string; readonly port: number };
}

/**
 * Stands between a client and a server, and fails as networks do:
 *
 *     cut()        the client's half ends, the server's stays open, and silent: a router that lost its table
 *     blackHole()  both halves stay open, and nothing comes through any more: a balancer that forgot a connection
 *
 * Connections that are made afterwards are well.
 */
export class CutProxy {
  readonly #server: Server;
  readonly #near = new Set<Socket>();
  readonly #far = new Set<Socket>();
  /** Sockets of connections that go nowhere: their other half is not told anything. */
  readonly #swallowed = new WeakSet<Socket>();

  private constructor(server: Server, target: { readonly host: string; readonly port: number }) {
    this.#server = server;
    server.on("connection", (near) => {
      const far = connect(target);
      this.#near.add(near);
      this.#far.add(far);
      this.#forward(near, far);
      this.#forward(far, near);
      near.on("close", () => {
        this.#near.delete(near);
        if (!this.#swallowed.has(near)) far.destroy();
      });
      far.on("close", () => {
        this.#far.delete(far);
        if (!this.#swallowed.has(far)) near.destroy();
      });
    });
  }

  /** @param port 0: any that is free. */
  static async start(port: number, options: CutProxyOptions = {}): Promise<CutProxy> {
    const { host = FABRIC_ADDRESS, target = { host: FABRIC_ADDRESS, port: SYNC_PORT } } = options;
    const server = createServer();
    const proxy = new CutProxy(server, target);
    server.listen(port, host);
    await once(server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that the server believes to be there. */
  get open(): number {
    return this.#far.size;
  }

  /** The clients see their connections end; the server sees nothing. */
  cut(): void {
    for (const near of this.#near) {
      this.#swallowed.add(near);
      near.destroy();
    }
  }

  /** Swallows whatever is sent on the connections of this moment, without a word to either side. How many they are. */
  blackHole(): number {
    for (const socket of [...this.#near, ...this.#far]) this.#swallowed.add(socket);
    return this.#near.size;
  }

  close(): void {
    this.#server.close();
    for (const socket of [...this.#near, ...this.#far]) socket.destroy();
  }

  #forward(from: Socket, to: Socket): void {
    from.on("data", (chunk) => {
      if (!this.#swallowed.has(from)) to.write(chunk);
    });
    from.on("error", () => undefined);
  }
}
