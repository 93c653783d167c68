import { crc32c } from "./crc32c.ts";

/**
 * The two SCTP packets that a probe needs (RFC 9260 sections 3.1, 3.3.2, 3.3.3). Kernels without SCTP sockets still
 * track SCTP connections, so a probe sends an INIT over a raw socket and takes an INIT ACK as "connects".
 */
export interface SctpPacket {
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly verificationTag: number;
  readonly chunk: "init" | "init-ack";
  readonly initiateTag: number;
}

const INIT = 1;
const INIT_ACK = 2;
const COMMON_HEADER_BYTES = 12;
const INIT_CHUNK_BYTES = 20;
const STATE_COOKIE_PARAMETER = 7;

export function encodeSctpPacket(packet: SctpPacket): Buffer {
  const cookieBytes = packet.chunk === "init-ack" ? 8 : 0;
  const bytes = Buffer.alloc(COMMON_HEADER_BYTES + INIT_CHUNK_BYTES + cookieBytes);
  bytes.writeUInt16BE(packet.sourcePort, 0);
  bytes.writeUInt16BE(packet.destinationPort, 2);
  bytes.writeUInt32BE(packet.verificationTag, 4);
  bytes.writeUInt8(packet.chunk === "init" ? INIT : INIT_ACK, 12);
  bytes.writeUInt16BE(INIT_CHUNK_BYTES + cookieBytes, 14);
  bytes.writeUInt32BE(packet.initiateTag, 16);
  bytes.writeUInt32BE(65535, 20);
  bytes.writeUInt16BE(1, 24);
  bytes.writeUInt16BE(1, 26);
  bytes.writeUInt32BE(1, 28);
  if (cookieBytes > 0) {
    bytes.writeUInt16BE(STATE_COOKIE_PARAMETER, 32);
    bytes.writeUInt16BE(cookieBytes, 34);
  }
  // The checksum travels least significant byte first, unlike everything else.
  bytes.writeUInt32LE(crc32c(bytes), 8);
  return bytes;
}

/** Reads an INIT or INIT ACK with a right checksum; `undefined` for anything else. */
export function decodeSctpPacket(bytes: Buffer): SctpPacket | undefined {
  if (bytes.length < COMMON_HEADER_BYTES + INIT_CHUNK_BYTES) return undefined;
  const type = bytes.readUInt8(12);
  if (type !== INIT && type !== INIT_ACK) return undefined;
  const copy = Buffer.from(bytes);
  copy.writeUInt32LE(0, 8);
  if (crc32c(copy) !== bytes.readUInt32LE(8)) return undefined;
  return {
    sourcePort: bytes.readUInt16BE(0),
    destinationPort: bytes.readUInt16BE(2),
    verificationTag: bytes.readUInt32BE(4),
    chunk: type === INIT ? "init" : "init-ack",
    initiateTag: bytes.readUInt32BE(16),
  };
}
