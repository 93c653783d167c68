/** FIN and opcode 2, binary (RFC 6455 section 5.2). */
const FIN_BINARY = 0x82;

/**
 * The header of an unmasked, unfragmented binary message of `length` bytes: 2, 4 or 10 bytes (RFC 6455 section 5.2).
 * Only servers send unmasked ones.
 */
export function websocketHeader(length: number): Buffer {
  const header = Buffer.alloc(websocketHeaderBytes(length));
  writeWebsocketHeader(header, length);
  return header;
}

export function websocketHeaderBytes(length: number): 2 | 4 | 10 {
  return length < 126 ? 2 : length < 65_536 ? 4 : 10;
}

/** Writes the header at the start of `target` and returns its size. */
export function writeWebsocketHeader(target: Buffer, length: number): number {
  target[0] = FIN_BINARY;
  if (length < 126) {
    target[1] = length;
    return 2;
  }
  if (length < 65_536) {
    target[1] = 126;
    target.writeUInt16BE(length, 2);
    return 4;
  }
  target[1] = 127;
  target.writeUInt32BE(Math.floor(length / 0x1_0000_0000), 2);
  target.writeUInt32BE(length % 0x1_0000_0000, 6);
  return 10;
}
