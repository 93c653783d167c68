/** The echo request of a probe and its answer (RFC 792 page 14, RFC 4443 section 4). Pods' kernels answer by themselves. */
export const ECHO_REQUEST: Readonly<Record<4 | 6, number>> = { 4: 8, 6: 128 };
const ECHO_REPLY: Readonly<Record<4 | 6, number>> = { 4: 0, 6: 129 };

const HEADER_BYTES = 8;

/**
 * `tag`: 32 bits by which the answer is known, the lower half as the identifier and the upper one as the sequence number:
 * to conntrack, requests of one identifier are one flow.
 */
export function encodeEcho(family: 4 | 6, tag: number, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length);
  bytes.writeUInt8(ECHO_REQUEST[family], 0);
  bytes.writeUInt16BE(tag & 0xffff, 4);
  bytes.writeUInt16BE(tag >>> 16, 6);
  payload.copy(bytes, HEADER_BYTES);
  // The kernel sums up what raw ICMPv6 sockets send, as the sum takes in the addresses.
  if (family === 4) bytes.writeUInt16BE(internetChecksum(bytes), 2);
  return bytes;
}

/** True when the packet answers the request of that tag and payload. */
export function isEchoReply(family: 4 | 6, bytes: Buffer, tag: number, payload: Buffer): boolean {
  return (
    bytes.length === HEADER_BYTES + payload.length &&
    bytes.readUInt8(0) === ECHO_REPLY[family] &&
    bytes.readUInt16BE(4) === (tag & 0xffff) &&
    bytes.readUInt16BE(6) === tag >>> 16 &&
    bytes.subarray(HEADER_BYTES).equals(payload)
  );
}

/** RFC 1071: of bytes whose own checksum field is 0. */
export function internetChecksum(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i + 1 < bytes.length; i += 2) sum += bytes.readUInt16BE(i);
  if (bytes.length % 2 === 1) sum += bytes.readUInt8(bytes.length - 1) * 256;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
