import type { Socket } from "node:net";

/** "10.0.0.7:41234" or "[fd00::7]:41234"; an IPv4 peer of a dual-stack socket is shown as what it is. */
export function peerName(socket: Pick<Socket, "remoteAddress" | "remotePort">): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined) return "unknown";
  const address = remoteAddress.replace(/^::ffff:(?=\d+\.)/, "");
  return `${address.includes(":") ? `[${address}]` : address}:${remotePort}`;
}
