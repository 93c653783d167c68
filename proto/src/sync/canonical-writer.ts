import { compareStrings } from "@bulrush/base";

/** What follows: first byte of each item. */
const NIL = 0;
const FALSE = 1;
const TRUE = 2;
const NUMBER = 3;
const ASCII = 4;
const WIDE = 5;
const LIST = 6;
const MAP = 7;
const END = 8;

/** A tag and a count. */
const HEAD_BYTES = 5;
const INITIAL_BYTES = 16 * 1024;
/** A buffer that one huge value made larger than this is not kept. */
const MAX_KEPT_BYTES = 1024 * 1024;
/** Field lists whose sorted order is remembered, for each number of fields. */
const MAX_ORDERS = 8;

interface Order {
  readonly keys: readonly string[];
  readonly sorted: readonly string[];
}

/**
 * Writes values in a form that is the same exactly when they are: every string, list and number carries its length, maps
 * and objects are written alike, sorted by key, without absent fields. Written by hand as it runs for every KV that an
 * agent receives; `JSON.stringify` with sorted copies costs three times as much.
 *
 * Invariant: `#length <= #buffer.length`; what lies behind is left from earlier values.
 */
export class CanonicalWriter {
  #buffer: Buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;
  readonly #orders = new Map<number, Order[]>();

  /** The canonical form. Valid until the next call. */
  write(value: unknown): Buffer {
    if (this.#buffer.length > MAX_KEPT_BYTES) this.#buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.#length = 0;
    this.#value(value);
    return this.#buffer.subarray(0, this.#length);
  }

  #value(value: unknown): void {
    switch (typeof value) {
      case "string":
        this.#string(value);
        return;
      case "number":
        this.#tag(NUMBER);
        // -0 is 0: it is on the wire.
        this.#string(String(value));
        return;
      case "boolean":
        this.#tag(value ? TRUE : FALSE);
        return;
      case "object":
        if (value === null) this.#tag(NIL);
        else if (Array.isArray(value)) {
          this.#head(LIST, value.length);
          for (const item of value) this.#value(item);
        } else if (value instanceof Map) this.#map(value as ReadonlyMap<string, unknown>);
        else this.#record(value as Readonly<Record<string, unknown>>);
        return;
      default:
        // A value that no datastore holds: undefined in a list.
        this.#tag(NIL);
    }
  }

  #map(map: ReadonlyMap<string, unknown>): void {
    this.#tag(MAP);
    for (const key of this.#sorted([...map.keys()])) {
      const field = map.get(key);
      if (field === undefined) continue;
      this.#string(key);
      this.#value(field);
    }
    this.#tag(END);
  }

  #record(record: Readonly<Record<string, unknown>>): void {
    this.#tag(MAP);
    for (const key of this.#sorted(Object.keys(record))) {
      const field = record[key];
      if (field === undefined) continue;
      this.#string(key);
      this.#value(field);
    }
    this.#tag(END);
  }

  /** Values of one kind have their fields in one order nearly always: it is sorted once. */
  #sorted(keys: readonly string[]): readonly string[] {
    if (isSorted(keys)) return keys;
    let orders = this.#orders.get(keys.length);
    if (orders === undefined) {
      orders = [];
      this.#orders.set(keys.length, orders);
    }
    for (const order of orders) if (areEqual(order.keys, keys)) return order.sorted;
    const sorted = keys.toSorted(compareStrings);
    if (orders.length === MAX_ORDERS) orders.shift();
    // Lists of user-chosen labels would only push the others out.
    if (keys.length <= 64) orders.push({ keys, sorted });
    return sorted;
  }

  #string(text: string): void {
    const { length } = text;
    this.#head(ASCII, length);
    this.#reserve(length);
    const start = this.#length;
    const buffer = this.#buffer;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0x7f) {
        this.#wide(text, start);
        return;
      }
      buffer[start + i] = unit;
    }
    this.#length = start + length;
  }

  /** In place of ASCII that was begun at `start`: two bytes for each code unit. */
  #wide(text: string, start: number): void {
    this.#buffer[start - HEAD_BYTES] = WIDE;
    this.#reserve(text.length * 2);
    this.#length = start + this.#buffer.write(text, start, "utf16le");
  }

  #head(tag: number, count: number): void {
    this.#reserve(HEAD_BYTES);
    const buffer = this.#buffer;
    let at = this.#length;
    buffer[at++] = tag;
    buffer[at++] = count & 0xff;
    buffer[at++] = (count >>> 8) & 0xff;
    buffer[at++] = (count >>> 16) & 0xff;
    buffer[at++] = count >>> 24;
    this.#length = at;
  }

  #tag(tag: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = tag;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if ((keys[i - 1] as string) > (keys[i] as string)) return false;
  return true;
}

function areEqual(a: readonly string[], b: readonly string[]): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
