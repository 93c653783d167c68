import { malformed } from "./malformed.ts";
import { align4, NLA_TYPE_MASK } from "./header.ts";

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
    let end = this.start;
    const limit = this.start + this.length;
    while (end < limit && this.#view.getUint8(end) !== 0) end++;
    return Buffer.from(this.#view.buffer, this.#view.byteOffset + this.start, end - this.start).toString("utf8");
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
