import { type EncodeOptions, frameMessage, framePackedMessage, KVPacking } from "@bulrush/proto";
import type { FrameEncoder, PackedFrames } from "../cache/encode-kvs.ts";
import { sharedCopy } from "../cache/shared-bytes.ts";

/**
 * Compressing a frame costs some 50 us whatever its size, once. A frame of one KV (500 bytes, of which a quarter can be
 * saved) is worth that for many clients only, one of ten KVs nearly always.
 */
const COMPRESS_FROM_BYTES = 1024;
const COMPRESS_SMALL_FROM_BYTES = 400;
const MANY_CLIENTS = 100;

export interface FrameEncoders {
  readonly encodeFrame: FrameEncoder;
  readonly packed: PackedFrames;
}

/**
 * The codec of everything that is shared between clients, for one cache. `clients`: how many share it at the moment.
 * `forThreads`: deltas are made in memory that other threads see too.
 */
export function createFrameEncoders(clients: () => number, forThreads: boolean = false): FrameEncoders {
  const options = (): EncodeOptions => ({
    compressFromBytes: clients() >= MANY_CLIENTS ? COMPRESS_SMALL_FROM_BYTES : COMPRESS_FROM_BYTES,
  });
  const place = (type: string, frame: Buffer): Buffer => (forThreads && type === "delta" ? sharedCopy(frame) : frame);
  return {
    encodeFrame: (message) => place(message.type, frameMessage(message, options())),
    packed: {
      packing: new KVPacking(),
      encode: (message) => place(message.type, framePackedMessage(message, options())),
    },
  };
}
