import { malformed } from "./malformed.ts";
import { align4, NLA_TYPE_MASK } from "./header.ts";

/**
 * Texts that were read lately, by a hash of their bytes: names of tables, chains and expressions come over and over in a
 * listing, and looking at a text again is cheaper than making it.
 */
const SLOTS = 4096;
const MAX_LATELY = 128;
const lately: (string | undefined)[] = Array.from({ length: SLOTS });

/**
 * Walks the attributes between two offsets of a buffer: `while (reader.next()) switch (reader.type) ...`. The value
 * accessors read the attribute that `next` stopped at, and throw NETLINK_MALFORMED when it is too short for them.
 * Views stay valid as long as the buffer holds that datagram: copy what you keep.
 *
 * Invariant: `next` moves forward by at least four bytes or ends, so a walk always ends.
 */
export class AttributeReader {
  readonly #view: DataView;
  readonly #end: number;
  /** Goes to the next attribute; false at the end. Throws NETLINK_MALFORMED where a length is not true. */
  #next: number;
  /** Type of the present attribute, without its flag bits. */
  type = 0;
  /** Offset of the payload in the buffer. */
  start = 0;
  /** Bytes of payload. */
  length = 0;

  constructor(view: DataView, start: number, end: number) {
    this.#view = view;
    this.#next = start;
    this.#end = end;
  }

  next(): boolean {
    const at = this.#next;
    // Up to three bytes may be left: the padding of a message.
    if (at + 4 > this.#end) return false;
    const length = this.#view.getUint16(at, true);
    if (length < 4 || at + length > this.#end)
      throw malformed(`attribute of ${length} bytes where ${this.#end - at} are left`);
    this.type = this.#view.getUint16(at + 2, true) & NLA_TYPE_MASK;
    this.start = at + 4;
    this.length = length - 4;
    this.#next = at + align4(length);
    return true;
  }

  u8(): number {
    this.#need(1);
    return this.#view.getUint8(this.start);
  }

  u16(): number {
    this.#need(2);
    return this.#view.getUint16(this.start, true);
  }

  u16be(): number {
    this.#need(2);
    return this.#view.getUint16(this.start, false);
  }

  u32(): number {
    this.#need(4);
    return this.#view.getUint32(this.start, true);
  }

  i32(): number {
    this.#need(4);
    return this.#view.getInt32(this.start, true);
  }

  u32be(): number {
    this.#need(4);
    return this.#view.getUint32(this.start, false);
  }

  u64(): bigint {
    this.#need(8);
    return this.#view.getBigUint64(this.start, true);
  }

  u64be(): bigint {
    this.#need(8);
    return this.#view.getBigUint64(this.start, false);
  }

  /** Text up to the first NUL, or to the end. */
  string(): string {
    const limit = this.start + this.length;
    let end = this.start;
    let hash = 0;
    for (; end < limit; end++) {
      const byte = this.#view.getUint8(end);
      if (byte === 0) break;
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    const slot = (hash ^ (hash >>> 12)) & (SLOTS - 1);
    const before = lately[slot];
    if (before !== undefined && this.#isText(before, end)) return before;
    const text = Buffer.from(this.#view.buffer, this.#view.byteOffset + this.start, end - this.start).toString("utf8");
    if (text.length <= MAX_LATELY) lately[slot] = text;
    return text;
  }

  /** True when the bytes from the start to `end` are this text. What is not ASCII is none. */
  #isText(text: string, end: number): boolean {
    if (text.length !== end - this.start) return false;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80 || code !== this.#view.getUint8(this.start + i)) return false;
    }
    return true;
  }

  /** A number from 0 on: the same for the same payload, and mostly another for another. */
  hash(): number {
    const end = this.start + this.length;
    let at = this.start;
    let hash = this.length;
    for (; at + 4 <= end; at += 4) {
      hash = Math.imul(hash ^ this.#view.getUint32(at, true), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    for (; at < end; at++) hash = Math.imul(hash ^ this.#view.getUint8(at), 0x9e3779b1);
    return (hash ^ (hash >>> 13)) >>> 0;
  }

  /** True when the payload is exactly these bytes. */
  equals(bytes: Uint8Array): boolean {
    if (bytes.length !== this.length) return false;
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== this.#view.getUint8(this.start + i)) return false;
    return true;
  }

  /** A host-order word of the payload, for layouts that are known. Throws NETLINK_MALFORMED beyond its end. */
  u32At(offset: number): number {
    this.#need(offset + 4);
    return this.#view.getUint32(this.start + offset, true);
  }

  /** A view of the payload. */
  bytes(): Uint8Array {
    return new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.start, this.length);
  }

  nested(): AttributeReader {
    return new AttributeReader(this.#view, this.start, this.start + this.length);
  }

  #need(bytes: number): void {
    if (this.length < bytes)
      throw malformed(`attribute ${this.type} of ${this.length} bytes where ${bytes} are needed`);
  }
}
