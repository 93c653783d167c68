import type { KV } from "@bulrush/proto";
import { must } from "@bulrush/base";

/** One chunk at one moment, for a snapshot of that moment: either its encoding, or the slots to encode. */
export interface ChunkCapture {
  readonly chunk: Chunk;
  readonly used: number;
  /** The encoded slots, when they were still at hand. */
  readonly frames: readonly Buffer[] | undefined;
  /** Never changed by the store; undefined when there are frames. */
  readonly slots: readonly (KV | undefined)[] | undefined;
}

/** A run of slots that is encoded together. */
export interface Chunk {
  slots: (KV | undefined)[];
  used: number;
  /** Invariant: undefined, or the encoding of exactly `slots`. */
  frames: readonly Buffer[] | undefined;
  /** Invariant: true while a capture may hold `slots`; the next change then goes to a copy. */
  captured: boolean;
}

/**
 * The present KVs in numbered slots, some hundred to a chunk. A slot belongs to one key from insert to remove and may
 * then be given to another. KVs are immutable: a change replaces the object.
 *
 * Invariant: a slot is either in use, or in `#free`, or beyond `#end`.
 */
export class ChunkStore {
  readonly #slotsPerChunk: number;
  readonly #chunks: Chunk[] = [];
  readonly #free: number[] = [];
  #end = 0;
  #size = 0;

  constructor(slotsPerChunk: number) {
    this.#slotsPerChunk = slotsPerChunk;
  }

  /** How many slots are in use. */
  get size(): number {
    return this.#size;
  }

  /** Every slot that was ever in use lies before it. */
  get end(): number {
    return this.#end;
  }

  get(position: number): KV | undefined {
    return this.#chunks[this.#chunkOf(position)]?.slots[position % this.#slotsPerChunk];
  }

  /** Puts a new KV into a free slot and gives its position. */
  insert(kv: KV): number {
    const position = this.#free.pop() ?? this.#end++;
    const chunk = this.#writable(position);
    chunk.slots[position % this.#slotsPerChunk] = kv;
    chunk.used++;
    this.#size++;
    return position;
  }

  /** Replaces the KV in a slot that is in use. */
  replace(position: number, kv: KV): void {
    this.#writable(position).slots[position % this.#slotsPerChunk] = kv;
  }

  /** Frees a slot that is in use. */
  remove(position: number): void {
    const chunk = this.#writable(position);
    chunk.slots[position % this.#slotsPerChunk] = undefined;
    chunk.used--;
    this.#size--;
    this.#free.push(position);
  }

  /** What every chunk holds now. Costs a few words a chunk; nothing is copied until a chunk changes. */
  capture(): ChunkCapture[] {
    const captures: ChunkCapture[] = [];
    for (const chunk of this.#chunks) {
      if (chunk.used === 0) continue;
      const { used, frames } = chunk;
      if (frames === undefined) chunk.captured = true;
      captures.push({ chunk, used, frames, slots: frames === undefined ? chunk.slots : undefined });
    }
    return captures;
  }

  /** Keeps the encoding of a capture for the next snapshot, unless the chunk has changed since. */
  keepFrames(capture: ChunkCapture, frames: readonly Buffer[]): void {
    const { chunk } = capture;
    if (chunk.slots !== capture.slots) return;
    chunk.captured = false;
    chunk.frames = frames;
  }

  /** All slots in use, in order of position. */
  *entries(): Generator<readonly [position: number, kv: KV]> {
    for (let position = 0; position < this.#end; position++) {
      const kv = this.get(position);
      if (kv !== undefined) yield [position, kv];
    }
  }

  #chunkOf(position: number): number {
    return Math.floor(position / this.#slotsPerChunk);
  }

  #writable(position: number): Chunk {
    const index = this.#chunkOf(position);
    if (index === this.#chunks.length) {
      this.#chunks.push({ slots: [], used: 0, frames: undefined, captured: false });
    }
    const chunk = must(this.#chunks[index], "the chunk of a position");
    if (chunk.captured) {
      chunk.slots = chunk.slots.slice();
      chunk.captured = false;
    }
    chunk.frames = undefined;
    return chunk;
  }
}
