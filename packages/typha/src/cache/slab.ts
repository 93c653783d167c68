import { type KV, type KVListMaker, type KVPacking, PackedKV, ProtoError } from "@bulrush/proto";

/** A KV in a cache: as an object, or packed. */
export type Slot = KV | PackedKV;

/** Bytes of a new slab, of a KV, about; it grows as needed. */
const FIRST_KV_BYTES = 64;
/** Room for changes, of what is in use. */
const SPARE_SHARE = 1 / 2;
/** Memory of which less than this share is in use is given back. */
const MIN_SHARE_IN_USE = 1 / 4;
/** But not of so little. */
const KEPT_BYTES = 4096;

/** Where the packed KVs of some numbered slots lie, at one moment. */
interface Places {
  readonly starts: Uint32Array;
  /** 0: nothing packed is in the slot. */
  readonly ends: Uint32Array;
  /** What PackedKV says beside them. */
  readonly tails: Uint32Array;
  readonly lows: Int32Array;
  readonly highs: Int32Array;
  readonly sums: Int32Array;
}

/** The slots of a slab at one moment. Not changed by what the slab does afterwards. */
export interface SlabCapture {
  readonly bytes: Buffer;
  readonly places: Places;
  /** KVs that are not packed, by slot. */
  readonly objects: readonly (KV | undefined)[];
}

/**
 * The KVs of some slots, most of them packed in one piece of memory: an object for each would be three times as large,
 * and a burden for the garbage collector. What changes is written behind the rest, so that nothing is ever overwritten
 * that somebody may still read; when there is no room, or too little of it is in use, what is in use moves to a new piece,
 * in order.
 *
 * Invariant: bytes before `#at` never change. A slot is in `#places` or in `#objects` or empty. While `#isCaptured`, a
 * capture may hold `#places` and `#objects`.
 */
export class Slab {
  readonly #packing: KVPacking | undefined;
  readonly #slots: number;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #inUse = 0;
  #places: Places;
  #objects: (KV | undefined)[] = [];
  #isCaptured = false;

  constructor(slots: number, packing: KVPacking | undefined) {
    this.#packing = packing;
    this.#slots = slots;
    // Without a packing nothing has a place.
    this.#places = noPlaces(packing === undefined ? 0 : slots);
  }

  get(index: number): Slot | undefined {
    return slotOf(this.#bytes, this.#places, this.#objects, index);
  }

  /** Puts a slot in, or empties it. What was given is not held on to if it is packed. */
  set(index: number, slot: Slot | undefined): void {
    this.#own();
    const places = this.#places;
    const freed = (places.ends[index] ?? 0) - (places.starts[index] ?? 0);
    this.#inUse -= freed;
    places.starts[index] = 0;
    places.ends[index] = 0;
    if (!(slot instanceof PackedKV)) {
      this.#objects[index] = slot;
      if (freed > 0) this.#giveBack(0);
      return;
    }
    if (index < this.#objects.length) this.#objects[index] = undefined;
    const { source, start, end } = slot;
    const size = end - start;
    if (freed > 0) this.#giveBack(size);
    if (this.#at + size > this.#bytes.length) this.#move(size);
    source.copy(this.#bytes, this.#at, start, end);
    places.starts[index] = this.#at;
    this.#at += size;
    this.#inUse += size;
    places.ends[index] = this.#at;
    places.tails[index] = slot.tail;
    places.lows[index] = slot.low;
    places.highs[index] = slot.high;
    places.sums[index] = slot.sum;
  }

  /** No more is to come for some time: gives back what is not in use, and packs what can be by now. */
  settle(): void {
    if (this.#packing === undefined) return;
    for (const [index, kv] of this.#objects.entries()) {
      const slot = kv === undefined ? undefined : packIfPossible(kv, this.#packing);
      if (slot instanceof PackedKV) this.set(index, slot);
    }
    this.#own();
    this.#moveTo(this.#inUse);
  }

  capture(): SlabCapture {
    this.#isCaptured = true;
    return { bytes: this.#bytes, places: this.#places, objects: this.#objects };
  }

  /** Nobody holds a capture any more. */
  release(): void {
    this.#isCaptured = false;
  }

  /** True while the slab has not changed since this was captured. */
  is(capture: SlabCapture): boolean {
    return this.#isCaptured && this.#places === capture.places && this.#objects === capture.objects;
  }

  /** Before a change: what a capture may hold is left to it. */
  #own(): void {
    if (!this.#isCaptured) return;
    const { starts, ends, tails, lows, highs, sums } = this.#places;
    this.#places = {
      starts: starts.slice(),
      ends: ends.slice(),
      tails: tails.slice(),
      lows: lows.slice(),
      highs: highs.slice(),
      sums: sums.slice(),
    };
    this.#objects = this.#objects.slice();
    this.#isCaptured = false;
  }

  /** After something was removed, and before `more` comes. */
  #giveBack(more: number): void {
    const wanted = this.#inUse + more;
    if (wanted === 0) {
      this.#bytes = Buffer.alloc(0);
      this.#at = 0;
    } else if (this.#bytes.length > KEPT_BYTES && wanted < this.#bytes.length * MIN_SHARE_IN_USE)
      this.#moveTo(wanted + Math.ceil(wanted * SPARE_SHARE));
  }

  #move(more: number): void {
    const wanted = this.#inUse + more;
    // While it is filled for the first time it doubles; what is full has only changes to come.
    const isFilling = this.#inUse === this.#at;
    const room = isFilling ? Math.max(wanted, this.#slots * FIRST_KV_BYTES) : Math.ceil(wanted * SPARE_SHARE);
    this.#moveTo(wanted + room);
  }

  #moveTo(capacity: number): void {
    const { starts, ends } = this.#places;
    const before = this.#bytes;
    const bytes = Buffer.allocUnsafeSlow(capacity);
    let at = 0;
    for (let index = 0; index < ends.length; ) {
      const run = runFrom(this.#places, index);
      const [start, end] = [starts[index] as number, ends[run - 1] as number];
      if (end > start) before.copy(bytes, at, start, end);
      for (; index < run; index++) {
        const size = (ends[index] as number) - (starts[index] as number);
        starts[index] = size === 0 ? 0 : at;
        at += size;
        ends[index] = size === 0 ? 0 : at;
      }
    }
    this.#bytes = bytes;
    this.#at = at;
  }
}

/** Where the slots end that lie in one piece from `from` on; at least one. */
function runFrom({ starts, ends }: Places, from: number): number {
  let index = from + 1;
  while (index < ends.length && ends[index] !== 0 && starts[index] === ends[index - 1]) index++;
  return index;
}

function noPlaces(slots: number): Places {
  return {
    starts: new Uint32Array(slots),
    ends: new Uint32Array(slots),
    tails: new Uint32Array(slots),
    lows: new Int32Array(slots),
    highs: new Int32Array(slots),
    sums: new Int32Array(slots),
  };
}

function slotOf(bytes: Buffer, places: Places, objects: readonly (KV | undefined)[], index: number): Slot | undefined {
  const end = places.ends[index] ?? 0;
  if (end === 0) return objects[index];
  const { starts, tails, lows, highs, sums } = places;
  const [low, high] = [lows[index] as number, highs[index] as number];
  return new PackedKV(bytes, starts[index] as number, end, tails[index] as number, low, high, sums[index] as number);
}

/** All slots in use, in order. */
export function slotsOf({ bytes, places, objects }: SlabCapture): Slot[] {
  const slots: Slot[] = [];
  const length = Math.max(places.ends.length, objects.length);
  for (let index = 0; index < length; index++) {
    const slot = slotOf(bytes, places, objects, index);
    if (slot !== undefined) slots.push(slot);
  }
  return slots;
}

/** The packed form, or the KV itself where it has none, or where no client would take it: that is told later. */
export function packIfPossible(kv: KV, packing: KVPacking): Slot {
  try {
    return packing.pack(kv) ?? kv;
  } catch (error) {
    if (error instanceof ProtoError) return kv;
    throw error;
  }
}

/** Adds all slots that are packed to `maker`; false where one of them cannot be added. */
export function addPacked({ bytes, places, objects }: SlabCapture, maker: KVListMaker): boolean {
  const { starts, ends, lows, highs } = places;
  for (let index = 0; index < ends.length; index++) {
    if (ends[index] === 0) continue;
    const start = starts[index] as number;
    let run = index;
    // What lies in one piece and needs nothing defined.
    while (
      run < ends.length &&
      ends[run] !== 0 &&
      (run === index || starts[run] === ends[run - 1]) &&
      maker.defines(lows[run] as number, highs[run] as number)
    )
      run++;
    if (run > index) {
      maker.addRun(bytes, start, ends[run - 1] as number, run - index);
      index = run - 1;
      continue;
    }
    const slot = slotOf(bytes, places, objects, index);
    if (!(slot instanceof PackedKV) || !maker.add(slot)) return false;
  }
  return true;
}
