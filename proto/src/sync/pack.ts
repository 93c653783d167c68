import { ProtoError } from "./errors.ts";
import { MAX_DEPTH, maxContainers, SERVER_MESSAGE_LIMITS } from "./limits.ts";
import { PackedKVs } from "./packed-kvs.ts";
import { DEFINITION_COST, MAX_RECORD_FIELDS, RECORD_ID_COUNT, RECORD_ID_MIN } from "./records.ts";
import { isSameShape, type ShapeSet, type ShapeTable } from "./shape-table.ts";

/** Strings from this length on are written by native code: the call costs what a loop over so many characters does. */
const NATIVE_STRING = 64;
/** Room for any value but strings: a token and eight bytes. */
const VALUE_BYTES = 9;
const FIRST_BUFFER_BYTES = 64 * 1024;
/** No reader takes a body that is larger, so that none is written to its end. */
const MAX_BYTES: number = SERVER_MESSAGE_LIMITS.maxBodyBytes;
/** A buffer that one large body has made larger than this is not kept. */
const KEPT_BUFFER_BYTES = 4 * 1024 * 1024;

/** A KV stands in the list of KVs of the list of fields. */
const KV_DEPTH = 2;
/** Thrown inside of the packer for what has to be written in a body of its own; seen by nobody. */
const NOT_ALONE: Error = new Error("Cannot be packed by itself");

/** A KV as the first bytes of the packer's own buffer, and the shapes that they use. */
export interface KVBytes {
  readonly source: Buffer;
  readonly end: number;
  readonly used: ShapeSet;
  /** What of it follows the value. */
  readonly tail: number;
}

/**
 * Writes the bodies of messages: MessagePack with records defined inline, in the form that the README describes, and no
 * state between two bodies. What a reader's scan would refuse is refused here, while it is written: nesting that is too
 * deep, too many containers, what is not plain data.
 *
 * One for the process: a body is written to its end before the next is begun.
 *
 * Invariant: `at` is not beyond the end of `out`; `shapes[i]` are the field names that id RECORD_ID_MIN + i has in this body.
 */
class Packer {
  #out: Buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
  #at = 0;
  #depth = 0;
  #containers = 0;
  readonly #shapes: (readonly string[])[] = [];
  #nextShape = 0;
  /** While a KV is packed by itself: where its shapes are, which it uses, and which are defined before it. */
  #table: ShapeTable | undefined = undefined;
  readonly #used: ShapeSet = { low: 0, high: 0 };
  #defined: ShapeSet | undefined = undefined;
  readonly #entry = (value: unknown, key: unknown): void => {
    if (typeof key !== "string") throw notPlain(`map with a key of type ${typeof key}`);
    this.#string(key);
    this.#value(value);
  };

  pack(fields: readonly unknown[]): Uint8Array {
    if (this.#out.length > KEPT_BUFFER_BYTES) this.#out = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
    this.#at = 0;
    this.#depth = 0;
    this.#containers = 0;
    this.#shapes.length = 0;
    this.#nextShape = 0;
    this.#list(fields);
    if (this.#containers > maxContainers(this.#at))
      throw tooBig("The body has too many containers for its size", this.#at);
    return this.#out.subarray(0, this.#at);
  }

  /**
   * A KV alone, with the shapes of `table`. Those that are not in `defined` are defined where they are first used, and
   * then in it; without `defined` no definition is written. Gives nothing for what only a body of its own can hold.
   * Throws for what alone is larger than any body, with or without definitions.
   */
  packAlone(kv: readonly unknown[], table: ShapeTable, defined: ShapeSet | undefined): KVBytes | undefined {
    if (this.#out.length > KEPT_BUFFER_BYTES) this.#out = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
    this.#at = 0;
    this.#depth = KV_DEPTH;
    this.#containers = 0;
    this.#used.low = 0;
    this.#used.high = 0;
    this.#defined = defined;
    this.#table = table;
    try {
      const valueEnd = this.#kv(kv);
      if (this.#at > MAX_BYTES) throw tooBig("The value is too large", MAX_BYTES);
      // So that any number of them have no more containers than a body of their size may.
      if (defined === undefined && this.#containers * 4 > this.#at) return undefined;
      return { source: this.#out, end: this.#at, used: this.#used, tail: this.#at - valueEnd };
    } catch (error) {
      if (error === NOT_ALONE) return undefined;
      throw error;
    } finally {
      this.#table = undefined;
      this.#defined = undefined;
    }
  }

  /** Gives where the value ends. */
  #kv(kv: readonly unknown[]): number {
    const { length } = kv;
    this.#reserve(VALUE_BYTES);
    this.#listHeader(length);
    this.#open(length);
    this.#value(kv[0]);
    this.#value(kv[1]);
    const valueEnd = this.#at;
    for (let i = 2; i < length; i++) this.#value(kv[i]);
    return valueEnd;
  }

  #value(value: unknown): void {
    if (typeof value === "string") {
      this.#string(value);
      return;
    }
    this.#reserve(VALUE_BYTES);
    switch (typeof value) {
      case "number":
        this.#number(value);
        return;
      case "boolean":
        this.#out[this.#at++] = value ? 0xc3 : 0xc2;
        return;
      case "object":
        if (value === null) this.#out[this.#at++] = 0xc0;
        else if (Array.isArray(value)) this.#list(value);
        else if (value instanceof Map) this.#map(value);
        else this.#record(value);
        return;
      case "undefined":
        // The same as a field that is absent: what is alone has one form only.
        if (this.#table !== undefined) throw NOT_ALONE;
        this.#out[this.#at++] = 0xd4;
        this.#out[this.#at++] = 0;
        this.#out[this.#at++] = 0;
        return;
      default:
        throw notPlain(typeof value);
    }
  }

  #number(value: number): void {
    if (value >>> 0 === value) {
      // Tokens from 0x40 to 0x7f are records.
      if (value < RECORD_ID_MIN) this.#out[this.#at++] = value;
      else if (value < 0x100) this.#token8(0xcc, value);
      else if (value < 0x1_0000) this.#token16(0xcd, value);
      else this.#token32(0xce, value);
    } else if (value >> 0 === value) {
      if (value >= -0x20) this.#out[this.#at++] = 0x100 + value;
      else if (value >= -0x80) this.#token8(0xd0, value + 0x100);
      else if (value >= -0x8000) this.#token16(0xd1, value + 0x1_0000);
      else this.#token32(0xd2, value >>> 0);
    } else {
      this.#out[this.#at] = 0xcb;
      this.#at = this.#out.writeDoubleBE(value, this.#at + 1);
    }
  }

  /** Short ones of ASCII alone, which most are, in the fewest steps. */
  #string(text: string): void {
    const { length } = text;
    const out = this.#out;
    const start = this.#at + 1;
    if (length < 0x20 && start + length <= out.length) {
      let i = 0;
      for (; i < length; i++) {
        const unit = text.charCodeAt(i);
        if (unit >= 0x80) break;
        out[start + i] = unit;
      }
      if (i === length) {
        out[start - 1] = 0xa0 | length;
        this.#at = start + length;
        return;
      }
    }
    this.#anyString(text);
  }

  #anyString(text: string): void {
    const { length } = text;
    if (length > MAX_BYTES) throw tooBig("A string is larger than any body", MAX_BYTES);
    this.#reserve(5 + 3 * length);
    const out = this.#out;
    const header = headerBytes(length);
    const start = this.#at + header;
    let end = start;
    if (length < NATIVE_STRING) {
      for (let i = 0; i < length; i++) {
        const unit = text.charCodeAt(i);
        if (unit >= 0x80) {
          end = start + out.write(text, start);
          break;
        }
        out[end++] = unit;
      }
    } else end = start + out.write(text, start);
    const bytes = end - start;
    const needed = bytes === length ? header : headerBytes(bytes);
    if (needed !== header) out.copyWithin(this.#at + needed, start, end);
    if (needed === 1) out[this.#at++] = 0xa0 | bytes;
    else if (needed === 2) this.#token8(0xd9, bytes);
    else if (needed === 3) this.#token16(0xda, bytes);
    else this.#token32(0xdb, bytes);
    this.#at += bytes;
  }

  #list(items: readonly unknown[]): void {
    const { length } = items;
    this.#reserve(VALUE_BYTES);
    this.#listHeader(length);
    this.#open(length);
    for (let i = 0; i < length; i++) this.#value(items[i]);
    this.#depth--;
  }

  #map(entries: ReadonlyMap<unknown, unknown>): void {
    const { size } = entries;
    if (size < 0x10) this.#out[this.#at++] = 0x80 | size;
    else if (size < 0x1_0000) this.#token16(0xde, size);
    else this.#token32(0xdf, size);
    this.#open(size);
    entries.forEach(this.#entry);
    this.#depth--;
  }

  #record(value: object): void {
    if (value instanceof PackedKVs) {
      this.#packed(value);
      return;
    }
    if (!isPlain(value)) throw notPlain(tagOf(value));
    const names = Object.keys(value);
    if (this.#table !== undefined) this.#tableShape(names, this.#table);
    else {
      const known = this.#shapeOf(names);
      if (known >= 0) this.#out[this.#at++] = RECORD_ID_MIN + known;
      else this.#define(names);
    }
    this.#open(names.length);
    // By name: a list of the values would be made for every record.
    const fields = value as Readonly<Record<string, unknown>>;
    for (let i = 0; i < names.length; i++) this.#value(fields[names[i] as string]);
    this.#depth--;
  }

  #packed(kvs: PackedKVs): void {
    this.#reserve(VALUE_BYTES);
    this.#listHeader(kvs.count);
    this.#open(0);
    this.#depth--;
    // Before there is room for all of it: a list may be of hundreds of values that may be large alone.
    if (this.#at + kvs.bytes > MAX_BYTES) throw tooBig("The body is too large", MAX_BYTES);
    this.#reserve(kvs.bytes);
    const out = this.#out;
    for (const { source, start, end, type } of kvs.parts) {
      this.#at += source.copy(out, this.#at, start, end);
      if (type !== undefined) out[this.#at - 1] = type;
    }
  }

  #tableShape(names: readonly string[], table: ShapeTable): void {
    const index = table.indexOf(names);
    if (index < 0) throw NOT_ALONE;
    const used = this.#used;
    const bit = 1 << (index & 31);
    if (index < 32) used.low |= bit;
    else used.high |= bit;
    const defined = this.#defined;
    if (defined === undefined || ((index < 32 ? defined.low : defined.high) & bit) !== 0) {
      this.#out[this.#at++] = RECORD_ID_MIN + index;
      return;
    }
    if (index < 32) defined.low |= bit;
    else defined.high |= bit;
    this.#writeDefinition(index, names);
  }

  #shapeOf(names: readonly string[]): number {
    const shapes = this.#shapes;
    for (let i = 0; i < shapes.length; i++) if (isSameShape(shapes[i] as readonly string[], names)) return i;
    return -1;
  }

  /** Ids are given again once all are taken; the last definition counts. */
  #define(names: readonly string[]): void {
    if (names.length > MAX_RECORD_FIELDS) throw tooBig(`A record has ${names.length} fields`, MAX_RECORD_FIELDS);
    const index = this.#nextShape;
    this.#nextShape = (index + 1) % RECORD_ID_COUNT;
    this.#shapes[index] = names;
    this.#writeDefinition(index, names);
  }

  #writeDefinition(index: number, names: readonly string[]): void {
    this.#containers += DEFINITION_COST;
    this.#out[this.#at++] = 0xd4;
    this.#out[this.#at++] = 0x72;
    this.#out[this.#at++] = RECORD_ID_MIN + index;
    this.#listHeader(names.length);
    for (const name of names) this.#string(name);
  }

  #listHeader(length: number): void {
    if (length < 0x10) this.#out[this.#at++] = 0x90 | length;
    else if (length < 0x1_0000) this.#token16(0xdc, length);
    else this.#token32(0xdd, length);
  }

  /** An empty container holds nothing that could be too deep. */
  #open(items: number): void {
    this.#containers++;
    if (items > 0 && this.#depth === MAX_DEPTH) throw tooBig("The body nests too deep", MAX_DEPTH);
    this.#depth++;
  }

  #token8(token: number, value: number): void {
    this.#out[this.#at++] = token;
    this.#out[this.#at++] = value;
  }

  #token16(token: number, value: number): void {
    this.#out[this.#at++] = token;
    this.#out[this.#at++] = value >> 8;
    this.#out[this.#at++] = value & 0xff;
  }

  #token32(token: number, value: number): void {
    this.#out[this.#at] = token;
    this.#at = this.#out.writeUInt32BE(value, this.#at + 1);
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes > this.#out.length) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    if (this.#at > MAX_BYTES) throw tooBig("The body is too large", MAX_BYTES);
    const larger = Buffer.allocUnsafeSlow(2 * (this.#out.length + bytes));
    this.#out.copy(larger, 0, 0, this.#at);
    this.#out = larger;
  }
}

/** Not a date, bytes, or anything else that has more to it than its fields. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  return tagOf(value) === "Object";
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

function headerBytes(length: number): 1 | 2 | 3 | 5 {
  return length < 0x20 ? 1 : length < 0x100 ? 2 : length < 0x1_0000 ? 3 : 5;
}

function tooBig(message: string, limit: number): ProtoError {
  return new ProtoError("PROTO_TOO_BIG", message, { data: { limit } });
}

function notPlain(what: string): ProtoError {
  return new ProtoError("PROTO_MALFORMED", `The body cannot hold a ${what}`);
}

/** Made when first used: a browser reads the protocol too, and has no Buffer. */
let packer: Packer | undefined;

/**
 * The body of a message. The returned bytes are a view into the packer's own buffer: copy what is kept, before the next
 * call. Throws PROTO_TOO_BIG and PROTO_MALFORMED for what {@link scanBody} would refuse.
 */
export function packBody(fields: readonly unknown[]): Uint8Array {
  packer ??= new Packer();
  return packer.pack(fields);
}

/**
 * One KV (as a list, in wire form) with the shapes of a table, see `packAlone`. Good until the next call, as above; throws as above.
 */
export function packKV(kv: readonly unknown[], table: ShapeTable, defined?: ShapeSet): KVBytes | undefined {
  packer ??= new Packer();
  return packer.packAlone(kv, table, defined);
}
