import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { SYNC_PORT } from "../lab/cluster.ts";
import { FABRIC_ADDRESS } from "../lab/network.ts";

/**
 * Stands between an agent and the sync port, and cuts the agent's half of its connections: what a router that lost its
 * table does. The server's half stays open, and silent.
 */
export class CutProxy {
  readonly #server: Server;
  readonly #near = new Set<Socket>();
  readonly #far = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (near) => {
      const far = connect({ host: FABRIC_ADDRESS, port: SYNC_PORT });
      this.#near.add(near);
      this.#far.add(far);
      near.on("data", (chunk) => far.write(chunk));
      far.on("data", (chunk) => near.write(chunk));
      for (const socket of [near, far]) socket.on("error", () => undefined);
      near.on("close", () => this.#near.delete(near));
      far.on("close", () => {
        this.#far.delete(far);
        near.destroy();
      });
    });
  }

  static async start(port: number): Promise<CutProxy> {
    const server = createServer();
    const proxy = new CutProxy(server);
    server.listen(port, FABRIC_ADDRESS);
    await once(server, "listening");
    return proxy;
  }

  /** Connections that the server believes to be there. */
  get open(): number {
    return this.#far.size;
  }

  /** The agents see their connections end; the server sees nothing. */
  cut(): void {
    for (const near of this.#near) near.destroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of [...this.#near, ...this.#far]) socket.destroy();
  }
}
