import { Readable } from "node:stream";
import { must } from "@bulrush/base";
import type { SyncStatus } from "@bulrush/model";
import { encodeMessage, type KV } from "@bulrush/proto";
import { encodeKVs } from "../cache/encode-kvs.ts";

/** What a stream holds at one sequence. */
export interface SnapshotView {
  readonly epoch: string;
  readonly sequence: number;
  readonly status: SyncStatus;
  readonly kvs: readonly KV[];
}

/** KVs that are encoded together: some 100 KB. */
const KVS_PER_FRAME = 256;
/** Frames of several KVs are split when they get larger. */
const MAX_FRAME_BYTES = 1024 * 1024;
const LENGTH_BYTES = 4;

/**
 * GET /api/v1/snapshot/STREAM: the sync protocol's frames for those who speak HTTP only, such as a browser. Nothing is
 * compressed in them.
 *
 * ```
 *   body  = { length (uint32, big endian) | frame }
 *   frame = snapshot ..., snapshot-end, status
 * ```
 * A frame is made when there is room for it, so that a slow reader costs the KVs that it was promised and no more.
 */
export function snapshotBody(view: SnapshotView): Readable {
  return Readable.from(framesOf(view), { objectMode: false });
}

async function* framesOf({ sequence, status, kvs }: SnapshotView): AsyncGenerator<Buffer> {
  for (let i = 0; i < kvs.length; i += KVS_PER_FRAME) {
    const frames: Buffer[] = [];
    encodeKVs(
      kvs.slice(i, i + KVS_PER_FRAME),
      MAX_FRAME_BYTES,
      (part) => encodeMessage({ type: "snapshot", kvs: part }),
      // What no client could read never got into the cache.
      ({ frame }) => frames.push(must(frame, "the frame of a cached KV")),
    );
    for (const frame of frames) yield withLength(frame);
    await new Promise((resolve) => setImmediate(resolve));
  }
  yield withLength(encodeMessage({ type: "snapshot-end", sequence, count: kvs.length }));
  yield withLength(encodeMessage({ type: "status", sequence, status }));
}

function withLength(frame: Buffer): Buffer {
  const out = Buffer.allocUnsafe(LENGTH_BYTES + frame.length);
  out.writeUInt32BE(frame.length);
  frame.copy(out, LENGTH_BYTES);
  return out;
}
