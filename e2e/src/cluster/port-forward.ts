import { once } from "node:events";
import { type AddressInfo, createServer, type Server, Socket } from "node:net";
import { must } from "@bulrush/base";
import { parseAddress } from "@bulrush/ip";
import type { NetNamespace } from "../lab/namespace.ts";
import { openSocket, startConnect } from "../lab/posix.ts";

/** A port of this machine that leads to a loopback port in a namespace: what `kubectl port-forward` does. */
export class PortForward {
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(namespace: NetNamespace, port: number) {
    const loopback = must(parseAddress("127.0.0.1"), "an address");
    this.#server = createServer((near) => {
      const fd = namespace.run(() => {
        const made = openSocket(4, "stream");
        startConnect(made, loopback, port);
        return made;
      });
      const far = new Socket({ fd, readable: true, writable: true });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#open.add(one);
        one.on("error", () => other.destroy());
        one.on("close", () => {
          this.#open.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
  }

  static async open(namespace: NetNamespace, port: number): Promise<PortForward> {
    const forward = new PortForward(namespace, port);
    forward.#server.listen(0, "127.0.0.1");
    await once(forward.#server, "listening");
    return forward;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }
}
