import { assert } from "@bulrush/base";
import { NETLINK_ERROR_CODES, NetlinkError } from "../errors.ts";
import { align4, NLA_F_NESTED, NLMSG_HEADER_BYTES } from "./header.ts";

/**
 * Builds one or more netlink messages in one growing buffer. Numbers are in host order (little-endian: Bulrush runs on
 * x86-64 and arm64) unless the name says `be`. Reuse it with `reset`: it keeps its memory.
 *
 *     message(type, flags, seq)   16-byte header, length filled in by endMessage()
 *       u8/u32...                 the protocol's fixed part
 *       attrU32(type, value)      {length u16, type u16, payload, padding to 4}
 *       const mark = nest(type)   ... attributes ... endNest(mark)
 *     endMessage()
 *
 * The place is always taken before `#view` is looked at: taking it may replace the buffer.
 *
 * Invariant: between calls, `length` is a multiple of four wherever an attribute or a message may begin.
 */
export class MessageWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;
  #messageStart = -1;

  constructor(initialBytes = 4096) {
    this.#bytes = new Uint8Array(initialBytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** The bytes written so far: a view, valid until the next write or reset. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Forgets what was written, and keeps the memory. Views of `bytes` are not valid any more. */
  reset(): void {
    this.#length = 0;
    this.#messageStart = -1;
  }

  /** Makes room for so many bytes more at one go: worth it before large batches, whose buffer would be copied as it grows. */
  reserve(bytes: number): void {
    const end = this.#length + bytes;
    if (end > this.#bytes.length) this.#grow(end);
  }

  /** Takes back everything from `length` on, a message that is half built too. */
  truncate(length: number): void {
    assert(length <= this.#length, "Cannot truncate to more than there is");
    this.#length = length;
    this.#messageStart = -1;
  }

  /** Begins a message. */
  message(type: number, flags: number, seq: number): void {
    assert(this.#messageStart < 0, "A netlink message begins inside another");
    this.#messageStart = this.#length;
    const at = this.#take(NLMSG_HEADER_BYTES);
    this.#view.setUint32(at, 0, true);
    this.#view.setUint16(at + 4, type, true);
    this.#view.setUint16(at + 6, flags, true);
    this.#view.setUint32(at + 8, seq, true);
    this.#view.setUint32(at + 12, 0, true);
  }

  /** Fills in the length and pads. Each message needs it, before the next begins. */
  endMessage(): void {
    assert(this.#messageStart >= 0, "No netlink message to end");
    this.#view.setUint32(this.#messageStart, this.#length - this.#messageStart, true);
    this.#pad();
    this.#messageStart = -1;
  }

  /** Sets more flags on the message that began at `start`. */
  addFlags(start: number, flags: number): void {
    this.#view.setUint16(start + 6, this.#view.getUint16(start + 6, true) | flags, true);
  }

  u8(value: number): void {
    const at = this.#take(1);
    this.#view.setUint8(at, value);
  }

  u16(value: number): void {
    const at = this.#take(2);
    this.#view.setUint16(at, value, true);
  }

  u16be(value: number): void {
    const at = this.#take(2);
    this.#view.setUint16(at, value, false);
  }

  u32(value: number): void {
    const at = this.#take(4);
    this.#view.setUint32(at, value, true);
  }

  u32be(value: number): void {
    const at = this.#take(4);
    this.#view.setUint32(at, value, false);
  }

  raw(bytes: Uint8Array): void {
    const at = this.#take(bytes.length);
    this.#bytes.set(bytes, at);
  }

  attrFlag(type: number): void {
    this.#attribute(type, 0);
  }

  attrU8(type: number, value: number): void {
    const at = this.#attribute(type, 1);
    this.#view.setUint8(at, value);
    this.#pad();
  }

  attrU16(type: number, value: number): void {
    const at = this.#attribute(type, 2);
    this.#view.setUint16(at, value, true);
    this.#pad();
  }

  attrU16be(type: number, value: number): void {
    const at = this.#attribute(type, 2);
    this.#view.setUint16(at, value, false);
    this.#pad();
  }

  attrU32(type: number, value: number): void {
    const at = this.#attribute(type, 4);
    this.#view.setUint32(at, value, true);
  }

  attrU32be(type: number, value: number): void {
    const at = this.#attribute(type, 4);
    this.#view.setUint32(at, value, false);
  }

  attrU64(type: number, value: bigint | number): void {
    const at = this.#attribute(type, 8);
    this.#view.setBigUint64(at, BigInt(value), true);
  }

  attrU64be(type: number, value: bigint | number): void {
    const at = this.#attribute(type, 8);
    this.#view.setBigUint64(at, BigInt(value), false);
  }

  attrBytes(type: number, bytes: Uint8Array): void {
    const at = this.#attribute(type, bytes.length);
    this.#bytes.set(bytes, at);
    this.#pad();
  }

  /** Text with a NUL behind it. */
  attrString(type: number, text: string): void {
    const start = this.#length;
    const length = text.length;
    const at = this.#attribute(type, length + 1);
    const bytes = this.#bytes;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) {
        this.#length = start;
        this.attrBytes(type, Buffer.from(`${text}\0`));
        return;
      }
      bytes[at + i] = code;
    }
    bytes[at + length] = 0;
    this.#pad();
  }

  /** Opens a nested attribute; hand the result to `endNest`. */
  nest(type: number): number {
    const start = this.#length;
    this.#attribute(type | NLA_F_NESTED, 0);
    return start;
  }

  /** Closes it. Throws NETLINK_ARGUMENT when it grew over the 65,535 bytes that its length field can say. */
  endNest(start: number): void {
    const length = this.#length - start;
    if (length > 0xffff)
      throw new NetlinkError(`Nested attribute of ${length} bytes is over the limit of 65535`, {
        code: NETLINK_ERROR_CODES.argument,
        op: "Build netlink message",
        data: { bytes: length, limit: 0xffff },
      });
    this.#view.setUint16(start, length, true);
  }

  #attribute(type: number, length: number): number {
    if (length + 4 > 0xffff)
      throw new NetlinkError(`Attribute of ${length} bytes is over the limit of 65531`, {
        code: NETLINK_ERROR_CODES.argument,
        op: "Build netlink message",
        data: { bytes: length, limit: 0xffff - 4 },
      });
    const at = this.#take(4 + length);
    this.#view.setUint16(at, 4 + length, true);
    this.#view.setUint16(at + 2, type, true);
    return at + 4;
  }

  #pad(): void {
    const padding = align4(this.#length) - this.#length;
    if (padding === 0) return;
    const at = this.#take(padding);
    this.#bytes.fill(0, at, this.#length);
  }

  #take(count: number): number {
    const at = this.#length;
    const end = at + count;
    if (end > this.#bytes.length) this.#grow(end);
    this.#length = end;
    return at;
  }

  #grow(needed: number): void {
    const bytes = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}
