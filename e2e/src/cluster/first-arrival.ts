import type { Address } from "@bulrush/ip";
import type { NetNamespace } from "../lab/namespace.ts";
import { bindAny, closeSocket, openSocket, receiveFrom, sendTo } from "../lab/posix.ts";

const PAYLOAD = Buffer.from("first");
const LIMIT_MS = 300_000;

/**
 * Sends a datagram every millisecond or so and looks whether one arrives. The kernel does not remember a denied flow: each
 * datagram is judged anew.
 */
export class FirstArrival {
  readonly #sender: number;
  readonly #listener: number;
  readonly #to: Address;
  readonly #port: number;

  constructor(from: NetNamespace, to: NetNamespace, address: Address, port: number) {
    this.#to = address;
    this.#port = port;
    const open = (at: number) => (): number => {
      const fd = openSocket(4, "datagram");
      bindAny(fd, 4, at);
      return fd;
    };
    this.#sender = from.run(open(0));
    this.#listener = to.run(open(port));
  }

  /** Whether one of so many arrives. */
  async isOpen(tries: number): Promise<boolean> {
    for (let i = 0; i < tries; i++) if (await this.#tryOnce()) return true;
    return false;
  }

  /** Resolves with performance.now() when the first one arrives. */
  async came(): Promise<number> {
    for (const endMs = performance.now() + LIMIT_MS; performance.now() < endMs; )
      if (await this.#tryOnce()) return performance.now();
    throw new Error(`No datagram arrived in ${LIMIT_MS / 1000} s`);
  }

  close(): void {
    closeSocket(this.#sender);
    closeSocket(this.#listener);
  }

  async #tryOnce(): Promise<boolean> {
    sendTo(this.#sender, PAYLOAD, this.#to, this.#port);
    await new Promise((resolve) => setTimeout(resolve, 1));
    return receiveFrom(this.#listener) !== undefined;
  }
}
