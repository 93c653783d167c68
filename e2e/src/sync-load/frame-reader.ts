/** Opcodes of RFC 6455 section 5.2. */
export const OPCODE_BINARY = 2;
export const OPCODE_PING = 9;

/** No server of ours sends more (the protocol's bound on a frame). */
const MAX_FRAME_BYTES = 17 * 1024 * 1024;

/** A server's websocket frames out of what a socket brings: unmasked and unfragmented (RFC 6455 section 5.2). */
export class FrameReader {
  #parts: Buffer[] = [];
  #size = 0;
  /** Nothing can be read before so many bytes are there. */
  #need = 2;

  /** Calls `onFrame` for each frame that is whole now. Throws RangeError for one over the bound. */
  push(chunk: Buffer, onFrame: (opcode: number, payload: Buffer) => void): void {
    this.#parts.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#need) return;
    let bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    for (;;) {
      this.#need = neededBytes(bytes);
      if (bytes.length < this.#need) break;
      const header = headerBytes(bytes[1] as number);
      const payload = bytes.subarray(header, this.#need);
      const opcode = (bytes[0] as number) & 15;
      bytes = bytes.subarray(this.#need);
      onFrame(opcode, payload);
    }
    this.#parts = bytes.length === 0 ? [] : [bytes];
    this.#size = bytes.length;
  }
}

function headerBytes(second: number): number {
  const short = second & 127;
  return short < 126 ? 2 : short === 126 ? 4 : 10;
}

/** Of the header, or of the frame where the header is there. */
function neededBytes(bytes: Buffer): number {
  if (bytes.length < 2) return 2;
  const short = (bytes[1] as number) & 127;
  const header = headerBytes(short);
  if (bytes.length < header) return header;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (length > MAX_FRAME_BYTES) throw new RangeError(`A frame of ${length} bytes`);
  return header + length;
}

/** A client's frame (RFC 6455 section 5.2) of less than 64 KiB, with a mask of zeros: the cheapest that is valid. */
export function maskedFrame(payload: Uint8Array, opcode: number = OPCODE_BINARY): Buffer {
  const size = payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...size, 0, 0, 0, 0]), payload]);
}
