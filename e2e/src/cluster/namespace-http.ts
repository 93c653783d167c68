import { Socket } from "node:net";
import { parseAddress } from "@bulrush/ip";
import type { NetNamespace } from "../lab/namespace.ts";
import { openSocket, startConnect } from "../lab/posix.ts";

const LOOPBACK = parseAddress("127.0.0.1");
const TIMEOUT_MS = 30_000;

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * GET on 127.0.0.1 of a network namespace, from outside of it: what a kubelet's probe and `kubectl port-forward` do.
 * Rejects when nobody listens, or there is no whole answer in 30 s.
 */
export function getInside(namespace: NetNamespace, port: number, path: string): Promise<HttpAnswer> {
  if (LOOPBACK === undefined) throw new Error("127.0.0.1 is no address");
  // The socket belongs to the namespace that it is made in; the event loop does the rest.
  const fd = namespace.run(() => {
    const made = openSocket(4, "stream");
    startConnect(made, LOOPBACK, port);
    return made;
  });
  const socket = new Socket({ fd, readable: true, writable: true });
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`${path}: no answer in 30 s`)));
    socket.on("data", (bytes: Buffer) => parts.push(bytes));
    socket.on("error", reject);
    socket.on("close", () => {
      const whole = Buffer.concat(parts).toString();
      const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(whole)?.[1] ?? 0);
      if (status === 0) reject(new Error(`${path}: no answer`));
      else resolve({ status, text: whole.slice(whole.indexOf("\r\n\r\n") + 4) });
    });
    // HTTP/1.0: no chunks, and the other side closes.
    socket.write(`GET ${path} HTTP/1.0\r\nHost: localhost\r\n\r\n`);
  });
}
