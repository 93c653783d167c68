import { hasCode } from "@bulrush/base";
import type { KV, ServerMessage } from "@bulrush/proto";

/**
 * Encodes a message into a whole websocket frame, header and payload in one Buffer that the caller may keep. Throws an
 * error of code PROTO_TOO_BIG when no client would take it.
 */
export type FrameEncoder = (message: ServerMessage) => Buffer;

/** The parts of {@link encodeKVs}, in order of the KVs. */
export type EncodedPart =
  | { readonly kvs: readonly KV[]; readonly frame: Buffer }
  /** One KV that no client would take. */
  | { readonly kvs: readonly [KV]; readonly frame: undefined };

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
  const frame = encodeUnlessTooBig(kvs, encode);
  const [first] = kvs;
  if (kvs.length < 2) {
    if (frame !== undefined) add({ kvs, frame });
    else if (first !== undefined) add({ kvs: [first], frame });
    return;
  }
  if (frame !== undefined && frame.length <= maxFrameBytes) {
    add({ kvs, frame });
    return;
  }
  const middle = kvs.length >> 1;
  encodeKVs(kvs.slice(0, middle), maxFrameBytes, encode, add);
  encodeKVs(kvs.slice(middle), maxFrameBytes, encode, add);
}

function encodeUnlessTooBig(kvs: readonly KV[], encode: (kvs: readonly KV[]) => Buffer): Buffer | undefined {
  try {
    return encode(kvs);
  } catch (error) {
    if (hasCode(error, "PROTO_TOO_BIG")) return undefined;
    throw error;
  }
}
