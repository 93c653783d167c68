import { must } from "@bulrush/base";
import { type KV, type KVPacking, PackedKV } from "@bulrush/proto";
import { packIfPossible, Slab, type SlabCapture, type Slot, slotsOf } from "./slab.ts";

/** One chunk at one moment, for a snapshot of that moment: either its encoding, or the slots to encode. */
export interface ChunkCapture {
  readonly chunk: Chunk;
  readonly used: number;
  /** The encoded slots, when they were still at hand. */
  readonly frames: readonly Buffer[] | undefined;
  /** Never changed by the store; undefined when there are frames. */
  readonly slots: SlabCapture | undefined;
}

/** A run of slots that is encoded together. */
export interface Chunk {
  readonly slab: Slab;
  used: number;
  /** Invariant: undefined, or the encoding of exactly what is in `slab`. */
  frames: readonly Buffer[] | undefined;
}

/**
 * The present KVs in numbered slots, some hundred to a chunk. A slot belongs to one key from insert to remove and may
 * then be given to another. KVs are immutable: a change replaces the slot. With a packing, they are held as the bytes
 * that messages carry.
 *
 * Invariant: a slot is either in use, or in `#free`, or beyond `#end`.
 */
export class ChunkStore {
  readonly #slotsPerChunk: number;
  readonly #packing: KVPacking | undefined;
  readonly #chunks: Chunk[] = [];
  readonly #free: number[] = [];
  #end = 0;
  #size = 0;

  constructor(slotsPerChunk: number, packing?: KVPacking) {
    this.#slotsPerChunk = slotsPerChunk;
    this.#packing = packing;
  }

  /** How many slots are in use. */
  get size(): number {
    return this.#size;
  }

  /** Every slot that was ever in use lies before it. */
  get end(): number {
    return this.#end;
  }

  /** The KV of a slot; a new object each time where it is packed. */
  get(position: number): KV | undefined {
    const slot = this.slotAt(position);
    return slot === undefined ? undefined : this.kvOf(slot);
  }

  /** What a slot holds. It stays what it is, whatever changes. */
  slotAt(position: number): Slot | undefined {
    return this.#chunks[this.#chunkOf(position)]?.slab.get(position % this.#slotsPerChunk);
  }

  kvOf(slot: Slot): KV {
    return slot instanceof PackedKV ? must(this.#packing, "what has packed it").unpack(slot) : slot;
  }

  /** The KVs of a capture, in order of position. */
  kvsOf(capture: SlabCapture): KV[] {
    return slotsOf(capture).map((slot) => this.kvOf(slot));
  }

  /** What to put into the store for a KV; good until the next call. */
  slotFor(kv: KV): Slot {
    return this.#packing === undefined ? kv : packIfPossible(kv, this.#packing);
  }

  /** Puts a new KV into a free slot and gives its position. */
  insert(slot: Slot): number {
    const position = this.#free.pop() ?? this.#end++;
    const chunk = this.#writable(position);
    chunk.used++;
    this.#size++;
    chunk.slab.set(position % this.#slotsPerChunk, slot);
    if (this.#end === position + 1 && this.#end % this.#slotsPerChunk === 0) chunk.slab.settle();
    return position;
  }

  /** Replaces the KV in a slot that is in use. */
  replace(position: number, slot: Slot): void {
    this.#writable(position).slab.set(position % this.#slotsPerChunk, slot);
  }

  /** Frees a slot that is in use. */
  remove(position: number): void {
    const chunk = this.#writable(position);
    chunk.slab.set(position % this.#slotsPerChunk, undefined);
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
      captures.push({ chunk, used, frames, slots: frames === undefined ? chunk.slab.capture() : undefined });
    }
    return captures;
  }

  /** Keeps the encoding of a capture for the next snapshot, unless the chunk has changed since. */
  keepFrames(capture: ChunkCapture, frames: readonly Buffer[]): void {
    const { chunk, slots } = capture;
    if (slots === undefined || !chunk.slab.is(slots)) return;
    chunk.slab.release();
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
      this.#chunks.push({ slab: new Slab(this.#slotsPerChunk, this.#packing), used: 0, frames: undefined });
    }
    const chunk = must(this.#chunks[index], "the chunk of a position");
    chunk.frames = undefined;
    return chunk;
  }
}
