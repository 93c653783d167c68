import { type KV, type KVPacking, type PackedMessage, ProtoError, type ServerMessage } from "@bulrush/proto";

/**
 * Encodes a message into a whole websocket frame, header and payload in one Buffer that the caller may keep. Throws a
 * ProtoError when no client would take it.
 */
export type FrameEncoder = (message: ServerMessage) => Buffer;

/** How a cache holds KVs as bytes, and makes frames of them. */
export interface PackedFrames {
  readonly packing: KVPacking;
  /** As a FrameEncoder; the bytes may differ in the ids of records. */
  readonly encode: (message: PackedMessage) => Buffer;
}

/** The parts of {@link encodeKVs}, in order of the KVs. */
export type EncodedPart =
  | { readonly kvs: readonly KV[]; readonly frame: Buffer }
  /** One KV that no client would take, and why. */
  | { readonly kvs: readonly [KV]; readonly frame: undefined; readonly reason: string };

/**
 * Encodes KVs into as few messages as stay under `maxFrameBytes`, by halving: a client's receive buffer is bounded.
 * One KV alone may be larger than that, up to what a client takes at all. `encode` is called for a part only after
 * `add` was called for the ones before it.
 */
export function encodeKVs(
  kvs: readonly KV[],
  maxFrameBytes: number,
  encode: (kvs: readonly KV[]) => Buffer,
  add: (part: EncodedPart) => void,
): void {
  const frame = tryEncode(kvs, encode);
  const [first] = kvs;
  if (kvs.length < 2) {
    if (!(frame instanceof ProtoError)) add({ kvs, frame });
    else if (first !== undefined) add({ kvs: [first], frame: undefined, reason: frame.message });
    return;
  }
  if (!(frame instanceof ProtoError) && frame.length <= maxFrameBytes) {
    add({ kvs, frame });
    return;
  }
  const middle = kvs.length >> 1;
  encodeKVs(kvs.slice(0, middle), maxFrameBytes, encode, add);
  encodeKVs(kvs.slice(middle), maxFrameBytes, encode, add);
}

function tryEncode(kvs: readonly KV[], encode: (kvs: readonly KV[]) => Buffer): Buffer | ProtoError {
  try {
    return encode(kvs);
  } catch (error) {
    if (error instanceof ProtoError) return error;
    throw error;
  }
}
