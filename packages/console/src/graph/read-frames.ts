import { decodeServerMessage, type ServerMessage } from "@bulrush/proto";

const LENGTH_BYTES = 4;
/** More than the largest frame that a server sends. */
const MAX_FRAME_BYTES = 32 * 1024 * 1024;

/** Cuts a body of frames with their lengths before them (big endian) into messages, however its parts are cut. */
export class FrameCutter {
  #rest: Uint8Array = new Uint8Array(0);

  /** The messages that `part` completes, in order. Throws an Error for what is no such body. */
  push(part: Uint8Array): readonly ServerMessage[] {
    const bytes = concat(this.#rest, part);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const messages: ServerMessage[] = [];
    let at = 0;
    while (bytes.length - at >= LENGTH_BYTES) {
      const length = view.getUint32(at);
      if (length > MAX_FRAME_BYTES) throw new Error(`A frame of ${length} bytes is not one of a snapshot`);
      const end = at + LENGTH_BYTES + length;
      if (end > bytes.length) break;
      messages.push(decodeServerMessage(bytes.subarray(at + LENGTH_BYTES, end)));
      at = end;
    }
    this.#rest = bytes.subarray(at);
    return messages;
  }

  /** Nothing may be left at the end. */
  end(): void {
    if (this.#rest.length > 0) throw new Error("The snapshot ends in the middle of a frame");
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  if (a.length === 0) return b;
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}
