import { frameMessage } from "@bulrush/proto";
import type { FrameEncoder } from "../cache/encode-kvs.ts";
import { sharedCopy } from "../cache/shared-bytes.ts";

/**
 * Compressing a frame costs some 50 us whatever its size, once. A frame of one KV (500 bytes, of which a quarter can be
 * saved) is worth that for many clients only, one of ten KVs nearly always.
 */
const COMPRESS_FROM_BYTES = 1024;
const COMPRESS_SMALL_FROM_BYTES = 400;
const MANY_CLIENTS = 100;

/**
 * The codec of everything that is shared between clients. `clients`: how many share it at the moment. `forThreads`:
 * deltas are made in memory that other threads see too.
 */
export function createFrameEncoder(clients: () => number, forThreads: boolean = false): FrameEncoder {
  return (message) => {
    const frame = frameMessage(message, {
      compressFromBytes: clients() >= MANY_CLIENTS ? COMPRESS_SMALL_FROM_BYTES : COMPRESS_FROM_BYTES,
    });
    return forThreads && message.type === "delta" ? sharedCopy(frame) : frame;
  };
}
