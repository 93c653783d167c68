import { must } from "@bulrush/base";
import { type KV, ProtoError } from "@bulrush/proto";
import type { Breadcrumb } from "./breadcrumb.ts";
import type { ChunkCapture, ChunkStore } from "./chunk-store.ts";
import { encodeKVs, type FrameEncoder, type PackedFrames } from "./encode-kvs.ts";
import { addPacked, type SlabCapture } from "./slab.ts";

/** Every KV that exists at one breadcrumb, and nothing else, ready to be written. Immutable and shared by all. */
export interface Snapshot {
  /** A reader goes on from here once it has read the frames. */
  readonly crumb: Breadcrumb;
  /** Chunks, then the end of the snapshot, then the status at that breadcrumb; whole frames in pieces of PIECE_BYTES. */
  readonly pieces: readonly Buffer[];
  /** How many KVs. */
  readonly count: number;
  readonly bytes: number;
  /** It holds some of the KVs only. */
  readonly isPart: boolean;
}

interface BuildOptions {
  readonly crumb: Breadcrumb;
  readonly encodeFrame: FrameEncoder;
  readonly packed: PackedFrames | undefined;
  readonly maxFrameBytes: number;
  /** Lets everything else have its turn; called after each chunk that was encoded. */
  readonly yieldTurn: () => Promise<void>;
}

/** KVs of a part that are encoded together. */
const PART_KVS = 256;

/**
 * Snapshots are handed to sockets in pieces of at most this much, but for a frame that is larger alone: large enough for
 * cheap TLS, small enough to be fair. Less than 64 KiB, as Node keeps a buffer behind each TLS socket for the largest
 * write that it had: one byte more, and it has room for five records of 16 KiB in place of four.
 */
export const PIECE_BYTES: number = 64 * 1024 - 1;
/** Joined in one turn of the event loop: about a millisecond. */
const JOINED_PER_TURN = 4 * 1024 * 1024;

/**
 * Builds the snapshot of `crumb`, which is the head at the moment of the call. What is published while this waits
 * does not get in: the store copies a captured chunk before it changes it.
 */
export async function buildSnapshot(options: BuildOptions & { readonly store: ChunkStore }): Promise<Snapshot> {
  const captures = options.store.capture();
  const pieces = new Pieces();
  let count = 0;
  let turnFrom = 0;
  for (const capture of captures) {
    count += capture.used;
    if (capture.frames !== undefined) pieces.add(capture.frames);
    else {
      const encoded = encodeChunk(capture, options);
      options.store.keepFrames(capture, encoded);
      pieces.add(encoded);
    }
    if (capture.frames !== undefined && pieces.bytes - turnFrom < JOINED_PER_TURN) continue;
    turnFrom = pieces.bytes;
    await options.yieldTurn();
  }
  return finish(pieces, count, false, options);
}

/** Builds a snapshot that holds `kvs` alone, which exist at `crumb`. */
export async function buildPart(kvs: readonly KV[], options: BuildOptions): Promise<Snapshot> {
  const pieces = new Pieces();
  for (let i = 0; i < kvs.length; i += PART_KVS) {
    pieces.add(encodeKVList(kvs.slice(i, i + PART_KVS), options));
    await options.yieldTurn();
  }
  return finish(pieces, kvs.length, true, options);
}

function finish(pieces: Pieces, count: number, isPart: boolean, { crumb, encodeFrame }: BuildOptions): Snapshot {
  pieces.add([
    encodeFrame({ type: "snapshot-end", sequence: crumb.sequence, count }),
    encodeFrame({ type: "status", sequence: crumb.sequence, status: crumb.status }),
  ]);
  return { crumb, pieces: pieces.end(), count, bytes: pieces.bytes, isPart };
}

/**
 * Joins frames to pieces: a write of one buffer costs TLS a third less than one of several, which it copies together for
 * every client again.
 */
class Pieces {
  readonly #pieces: Buffer[] = [];
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(frames: readonly Buffer[]): void {
    for (const frame of frames) {
      if (this.#waitingBytes + frame.length > PIECE_BYTES) this.#join();
      this.#waiting.push(frame);
      this.#waitingBytes += frame.length;
      this.#bytes += frame.length;
    }
  }

  end(): readonly Buffer[] {
    this.#join();
    return this.#pieces;
  }

  #join(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    // A frame that is large enough alone is not copied.
    this.#pieces.push(this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting, this.#waitingBytes));
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}

/** What is packed in one frame, and the rest after it; all as objects where that is not possible. */
function encodeChunk(capture: ChunkCapture, options: BuildOptions & { readonly store: ChunkStore }): Buffer[] {
  const slots = must(capture.slots, "the slots of a chunk without frames");
  const frame = options.packed === undefined ? undefined : encodePacked(slots, options.packed, options.maxFrameBytes);
  if (frame === undefined) return encodeKVList(options.store.kvsOf(slots), options);
  const objects = slots.objects.filter((kv) => kv !== undefined);
  return objects.length === 0 ? [frame] : [frame, ...encodeKVList(objects, options)];
}

/** All of a chunk that is packed, in one frame; undefined where nothing is, or it is too large for one. */
function encodePacked(slots: SlabCapture, packed: PackedFrames, maxFrameBytes: number): Buffer | undefined {
  try {
    const maker = packed.packing.list();
    if (!addPacked(slots, maker)) return undefined;
    const kvs = maker.end();
    if (kvs.count === 0) return undefined;
    const frame = packed.encode({ type: "snapshot", kvs });
    return frame.length <= maxFrameBytes ? frame : undefined;
  } catch (error) {
    if (error instanceof ProtoError) return undefined;
    throw error;
  }
}

function encodeKVList(kvs: readonly KV[], options: BuildOptions): Buffer[] {
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
