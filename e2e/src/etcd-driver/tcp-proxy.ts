import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

interface State {
  isBlackHole: boolean;
  isCut: boolean;
}

/** A way to a server that can be cut, and that can swallow everything without a word. */
export class TcpProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #silent: WeakSet<Socket>;
  readonly #state: State;

  private constructor(server: Server, sockets: Set<Socket>, silent: WeakSet<Socket>, state: State) {
    this.#server = server;
    this.#sockets = sockets;
    this.#silent = silent;
    this.#state = state;
    this.port = (server.address() as AddressInfo).port;
  }

  /** @param host Where it listens. */
  static async start(targetPort: number, host = "127.0.0.1"): Promise<TcpProxy> {
    const sockets = new Set<Socket>();
    const silent = new WeakSet<Socket>();
    const state: State = { isBlackHole: false, isCut: false };
    const forward = (from: Socket, to: Socket): void => {
      sockets.add(from);
      from.on("data", (bytes) => {
        if (!state.isBlackHole && !silent.has(from)) to.write(bytes);
      });
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on("error", () => {});
    };
    const server = createServer((near) => {
      if (state.isCut) {
        near.destroy();
        return;
      }
      const far = connect(targetPort, "127.0.0.1");
      forward(near, far);
      forward(far, near);
    });
    server.listen(0, host);
    await once(server, "listening");
    return new TcpProxy(server, sockets, silent, state);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** From now on nothing goes through, and nobody is told: the connections stay. New ones are of no use either. */
  blackHole(): void {
    this.#state.isBlackHole = true;
  }

  /** The connections that are open carry nothing more, and nobody is told; those to come do. */
  silenceOpen(): void {
    for (const socket of this.#sockets) this.#silent.add(socket);
  }

  /** Ends all connections, and new ones at once, until {@link TcpProxy.mend}. */
  cut(): void {
    this.#state.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** All is well again. What was open in a black hole has lost bytes, and ends. */
  mend(): void {
    if (this.#state.isBlackHole) for (const socket of this.#sockets) socket.destroy();
    this.#state.isCut = false;
    this.#state.isBlackHole = false;
  }

  stop(): void {
    this.#server.close();
    this.cut();
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}
