import { must } from "@bulrush/base";
import type { KV } from "@bulrush/proto";
import type { Breadcrumb } from "./breadcrumb.ts";
import type { ChunkCapture, ChunkStore } from "./chunk-store.ts";
import { encodeKVs, type FrameEncoder } from "./encode-kvs.ts";

/** Every KV that exists at one breadcrumb, and nothing else, ready to be written. Immutable and shared by all. */
export interface Snapshot {
  /** A reader goes on from here once it has read the frames. */
  readonly crumb: Breadcrumb;
  /** Chunks, then the end of the snapshot, then the status at that breadcrumb. */
  readonly frames: readonly Buffer[];
  /** How many KVs. */
  readonly count: number;
  readonly bytes: number;
  /** It holds some of the KVs only. */
  readonly isPart: boolean;
}

interface BuildOptions {
  readonly crumb: Breadcrumb;
  readonly encodeFrame: FrameEncoder;
  readonly maxFrameBytes: number;
  /** Lets everything else have its turn; called after each chunk that was encoded. */
  readonly yieldTurn: () => Promise<void>;
}

/** KVs of a part that are encoded together. */
const PART_KVS = 256;

/**
 * Builds the snapshot of `crumb`, which is the head at the moment of the call. What is published while this waits
 * does not get in: the store copies a captured chunk before it changes it.
 */
export async function buildSnapshot(options: BuildOptions & { readonly store: ChunkStore }): Promise<Snapshot> {
  const captures = options.store.capture();
  const frames: Buffer[] = [];
  let count = 0;
  for (const capture of captures) {
    count += capture.used;
    if (capture.frames !== undefined) {
      frames.push(...capture.frames);
      continue;
    }
    const encoded = encodeChunk(capture, options);
    options.store.keepFrames(capture, encoded);
    frames.push(...encoded);
    await options.yieldTurn();
  }
  return finish(frames, count, false, options);
}

/** Builds a snapshot that holds `kvs` alone, which exist at `crumb`. */
export async function buildPart(kvs: readonly KV[], options: BuildOptions): Promise<Snapshot> {
  const frames: Buffer[] = [];
  for (let i = 0; i < kvs.length; i += PART_KVS) {
    frames.push(...encodePiece(kvs.slice(i, i + PART_KVS), options));
    await options.yieldTurn();
  }
  return finish(frames, kvs.length, true, options);
}

function finish(frames: Buffer[], count: number, isPart: boolean, { crumb, encodeFrame }: BuildOptions): Snapshot {
  frames.push(encodeFrame({ type: "snapshot-end", sequence: crumb.sequence, count }));
  frames.push(encodeFrame({ type: "status", sequence: crumb.sequence, status: crumb.status }));
  const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
  return { crumb, frames, count, bytes, isPart };
}

function encodeChunk(capture: ChunkCapture, options: BuildOptions): Buffer[] {
  return encodePiece(
    (capture.slots ?? []).filter((slot): slot is KV => slot !== undefined),
    options,
  );
}

function encodePiece(kvs: readonly KV[], options: BuildOptions): Buffer[] {
  const frames: Buffer[] = [];
  encodeKVs(
    kvs,
    options.maxFrameBytes,
    (part) => options.encodeFrame({ type: "snapshot", kvs: part }),
    // A KV that could not be sent in a delta never got into the store.
    ({ frame }) => frames.push(must(frame, "the frame of a cached KV")),
  );
  return frames;
}
