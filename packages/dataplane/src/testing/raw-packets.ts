/** Packets as bytes, for what no socket would send. */

/** RFC 1071. `bytes` of even length. */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += bytes.readUInt16BE(i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** An IPv4 packet without options (RFC 791). */
export function ipv4Packet(from: string, to: string, protocol: number, payload: Buffer): Buffer {
  const header = Buffer.from([0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt16BE(header.length + payload.length, 2);
  header.set(from.split(".").map(Number), 12);
  header.set(to.split(".").map(Number), 16);
  header.writeUInt16BE(checksum(header), 10);
  return Buffer.concat([header, payload]);
}

/** An ICMP message (RFC 792) of eight bytes in an IPv4 packet. */
export function icmpPacket(from: string, to: string, type: number, code: number, id: number): Buffer {
  const message = Buffer.from([type, code, 0, 0, 0, 0, 0, 0]);
  message.writeUInt16BE(id, 4);
  message.writeUInt16BE(checksum(message), 2);
  return ipv4Packet(from, to, 1, message);
}

/** RFC 9293, section 3.1. */
const TCP_ACK = 0x10;

/** A TCP segment (RFC 9293) that acknowledges what nobody has sent, in an IPv4 packet. */
export function strayAck(from: string, to: string, fromPort: number, toPort: number): Buffer {
  const segment = Buffer.alloc(20);
  segment.writeUInt16BE(fromPort, 0);
  segment.writeUInt16BE(toPort, 2);
  segment.writeUInt32BE(1000, 4);
  segment.writeUInt32BE(2000, 8);
  segment.set([5 << 4, TCP_ACK, 0xff, 0xff], 12);
  const pseudo = Buffer.from([...from.split("."), ...to.split("."), 0, 6, 0, segment.length].map(Number));
  segment.writeUInt16BE(checksum(Buffer.concat([pseudo, segment])), 16);
  return ipv4Packet(from, to, 6, segment);
}
