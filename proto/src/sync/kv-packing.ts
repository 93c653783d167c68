import { Unpackr } from "msgpackr";
import { decodeKV, UPDATE_TYPE_NUMBERS, wireKV } from "./kv.ts";
import type { KV } from "./message.ts";
import { packKV } from "./pack.ts";
import { type PackedPart, PackedKVs } from "./packed-kvs.ts";
import { type ShapeSet, ShapeTable } from "./shape-table.ts";

/**
 * A KV as it stands in a message whose records are defined before it: the bytes of `source` from `start` to `end`. It
 * means something to its packing alone.
 */
export class PackedKV {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
  /** What of the bytes follows the value. */
  readonly tail: number;
  /** The shapes of its records, as two words of bits. */
  readonly low: number;
  readonly high: number;
  /** Of all before the tail: the same for the same bytes in any order. */
  readonly sum: number;

  constructor(source: Buffer, start: number, end: number, tail: number, low: number, high: number, sum: number) {
    this.source = source;
    this.start = start;
    this.end = end;
    this.tail = tail;
    this.low = low;
    this.high = high;
    this.sum = sum;
  }
}

/** By byte: numbers whose sum tells any two sets of bytes apart that were not made to be alike. */
const WEIGHTS: Int32Array = Int32Array.from({ length: 256 }, (_, i) => Math.imul(i + 1, 0x9e37_79b1) ^ ((i * i) << 9));
function sumOf(bytes: Uint8Array, end: number): number {
  let sum = 0;
  for (let at = 0; at < end; at++) sum = (sum + (WEIGHTS[bytes[at] as number] as number)) | 0;
  return sum;
}

/**
 * Holds KVs as the bytes that messages carry: a third of the memory that they take as objects, and to send many of them
 * is to copy. One shape table for all: a record is its id and its fields, and what a message has to define it defines
 * where a shape first occurs.
 */
export class KVPacking {
  readonly #table = new ShapeTable();
  #unpackr: Unpackr = makeUnpackr([]);
  #readerShapes = 0;

  /**
   * The KV as bytes, which are good until the next one is packed; nothing where it has to stay an object: a shape that
   * was not seen often or at all since there is an id for it, an undefined field, too many small containers. Throws a
   * ProtoError for what no client would take.
   */
  pack(kv: KV): PackedKV | undefined {
    if (kv.value === null) return undefined;
    const packed = packKV(wireKV(kv), this.#table);
    if (packed === undefined) return undefined;
    const { source, end, tail, used } = packed;
    return new PackedKV(source, 0, end, tail, used.low, used.high, sumOf(source, end - tail));
  }

  /** Only of what this packing made. A new object each time. */
  unpack(kv: PackedKV): KV {
    return decodeKV(this.#read(kv), "kvs", 0);
  }

  /**
   * Whether the values of two packed KVs of one path have the same content (`sameValue`); undefined: the bytes do not
   * tell, as where only an order differs.
   */
  isSameValue(a: PackedKV, b: PackedKV): boolean | undefined {
    const length = a.end - a.tail - a.start;
    // In whatever order, the same content has as many bytes, and the same ones: but for the ids of its shapes.
    if (length !== b.end - b.tail - b.start || a.sum !== b.sum) return this.#table.hasTwins ? undefined : false;
    const isEqual = a.source.compare(b.source, b.start, b.start + length, a.start, a.start + length) === 0;
    return isEqual ? true : undefined;
  }

  /** Begins a list of packed KVs for one message. */
  list(): KVListMaker {
    return new KVListMaker((kv, defined) => {
      const packed = packKV(this.#read(kv), this.#table, defined);
      return packed === undefined ? undefined : Buffer.from(packed.source.subarray(0, packed.end));
    });
  }

  #read({ source, start, end }: PackedKV): readonly unknown[] {
    const { shapes } = this.#table;
    // A reader learns its shapes when it is made; there are few of them, and soon no new ones.
    if (shapes.length !== this.#readerShapes) {
      this.#unpackr = makeUnpackr(shapes);
      this.#readerShapes = shapes.length;
    }
    return this.#unpackr.unpack(source.subarray(start, end)) as readonly unknown[];
  }
}

function makeUnpackr(shapes: readonly (readonly string[])[]): Unpackr {
  const structures = shapes.map((names) => names.slice()) as never[];
  return new Unpackr({ useRecords: true, mapsAsObjects: false, int64AsType: "number", structures });
}

/** A packed KV with the definitions that it needs, which are then in `defined`. */
type Define = (kv: PackedKV, defined: ShapeSet) => Buffer | undefined;

/** Gathers packed KVs for one message. Their bytes are read when the message is made. */
export class KVListMaker {
  readonly #define: Define;
  readonly #parts: PackedPart[] = [];
  readonly #defined: ShapeSet = { low: 0, high: 0 };
  #bytes = 0;
  #count = 0;

  constructor(define: Define) {
    this.#define = define;
  }

  /** True when all these shapes are defined by what was added: then `addRun` takes KVs that use no others. */
  defines(low: number, high: number): boolean {
    return ((low & ~this.#defined.low) | (high & ~this.#defined.high)) === 0;
  }

  /** Adds one KV, as an "updated" one where it `isUpdate`. False where it cannot be added: then the list is of no use. */
  add(kv: PackedKV, isUpdate = false): boolean {
    const type = isUpdate ? UPDATE_TYPE_NUMBERS.updated : undefined;
    this.#count++;
    if (this.defines(kv.low, kv.high)) {
      this.#push(kv.source, kv.start, kv.end, type);
      return true;
    }
    const bytes = this.#define(kv, this.#defined);
    if (bytes === undefined) return false;
    this.#push(bytes, 0, bytes.length, type);
    return true;
  }

  /** Adds `count` KVs that lie one after the other, whose shapes are all defined. */
  addRun(source: Buffer, start: number, end: number, count: number): void {
    this.#count += count;
    this.#push(source, start, end, undefined);
  }

  end(): PackedKVs {
    return new PackedKVs(this.#count, this.#parts, this.#bytes);
  }

  #push(source: Buffer, start: number, end: number, type: number | undefined): void {
    this.#parts.push({ source, start, end, type });
    this.#bytes += end - start;
  }
}
