import { connect, type Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { encodeMessage, SYNC_PATH, SYNC_SUBPROTOCOL } from "@bulrush/proto";
import type { TLSMaterial } from "@bulrush/sync-client";

const HEAD =
  `GET ${SYNC_PATH} HTTP/1.1\r\nHost: bad\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n` +
  `Sec-WebSocket-Protocol: ${SYNC_SUBPROTOCOL}\r\n\r\n`;

/** Ways in which a peer can be a burden. */
export const BAD_WAYS = ["garbage", "half-open", "silent", "slow-reader", "flood"] as const;
export type BadWay = (typeof BAD_WAYS)[number];

/** Opens a connection that misbehaves. The caller destroys it. */
export function badPeer(way: BadWay, port: number, tls: TLSMaterial, name: string): Socket {
  if (way === "garbage" || way === "half-open") {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    if (way === "garbage") socket.write(Buffer.alloc(10_000, 0x16));
    return socket;
  }
  const { ca, cert, key } = tls;
  const socket = tlsConnect({ port, host: "127.0.0.1", ca, cert, key, checkServerIdentity: () => undefined });
  socket.on("error", () => {});
  if (way === "silent") return socket;
  const hello = encodeMessage({
    type: "hello",
    version: 2,
    hostname: name,
    syncer: "felix",
    info: "bad",
    clientId: name,
  });
  socket.write(HEAD);
  socket.write(masked(2, hello));
  if (way === "slow-reader") socket.pause();
  else for (let i = 0; i < 2000; i++) socket.write(masked(9, Buffer.from("flood")));
  return socket;
}

/** A client's frame with a mask of zeros (RFC 6455 section 5.2), for less than 126 bytes. */
function masked(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}
