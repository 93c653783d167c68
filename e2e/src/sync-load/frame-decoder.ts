import { decodeServerMessage, type ServerMessage } from "@bulrush/proto";

/** Frames that are remembered. */
const SIZE = 16;
/** Pings and the like differ from client to client, and cost next to nothing. */
const LEAST_BYTES = 64;

/**
 * Decodes what a server sends. It sends the same bytes to every client, and these are decoded once: comparing bytes costs
 * a small part of decoding them, and it is the clients together that must be cheap.
 */
export class FrameDecoder {
  readonly #recent: { readonly frame: Buffer; readonly message: ServerMessage }[] = [];
  #next = 0;

  decode(frame: Buffer): ServerMessage {
    if (frame.length < LEAST_BYTES) return decodeServerMessage(frame);
    const known = this.#recent.find((entry) => entry.frame.equals(frame));
    if (known !== undefined) return known.message;
    const message = decodeServerMessage(frame);
    // A copy: the frame is a piece of what a socket read.
    this.#recent[this.#next] = { frame: Buffer.from(frame), message };
    this.#next = (this.#next + 1) % SIZE;
    return message;
  }
}

/** The message's number where that can be seen without decoding (`proto/README.md`, "Frame"); else undefined. */
export function plainMessageNumber(frame: Buffer): number | undefined {
  return frame[0] === 0 && ((frame[1] ?? 0) & 0xf0) === 0x90 ? frame[2] : undefined;
}
