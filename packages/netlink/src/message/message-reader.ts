import { AttributeReader } from "./attribute-reader.ts";
import { align4, NLMSG_HEADER_BYTES } from "./header.ts";
import { malformed } from "./malformed.ts";

/**
 * Walks the messages of one datagram: `while (reader.next()) ...`. Fields and views belong to the message that `next`
 * stopped at, and to the buffer that the socket reads into: copy what you keep.
 *
 * Invariant: `next` moves forward by at least a header or ends, so a walk always ends.
 */
export class MessageReader {
  readonly view: DataView;
  readonly #end: number;
  /** Goes to the next message; false at the end. Throws NETLINK_MALFORMED where a length is not true. */
  #next = 0;
  type = 0;
  flags = 0;
  seq = 0;
  /** Port ID of the sender: 0 for the kernel. */
  port = 0;
  /** Offsets of the body behind the header. */
  bodyStart = 0;
  bodyEnd = 0;

  constructor(bytes: Uint8Array, length: number = bytes.length) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, length);
    this.#end = length;
  }

  next(): boolean {
    const at = this.#next;
    if (at >= this.#end) return false;
    if (at + NLMSG_HEADER_BYTES > this.#end) throw malformed(`${this.#end - at} bytes where a header is due`);
    const length = this.view.getUint32(at, true);
    if (length < NLMSG_HEADER_BYTES || at + length > this.#end)
      throw malformed(`message of ${length} bytes where ${this.#end - at} are left`);
    this.type = this.view.getUint16(at + 4, true);
    this.flags = this.view.getUint16(at + 6, true);
    this.seq = this.view.getUint32(at + 8, true);
    this.port = this.view.getUint32(at + 12, true);
    this.bodyStart = at + NLMSG_HEADER_BYTES;
    this.bodyEnd = at + length;
    this.#next = at + align4(length);
    return true;
  }

  /** The attributes behind the protocol's fixed part of `fixedBytes`. */
  attributes(fixedBytes: number): AttributeReader {
    this.need(fixedBytes);
    return new AttributeReader(this.view, this.bodyStart + align4(fixedBytes), this.bodyEnd);
  }

  /** Throws NETLINK_MALFORMED when the body is shorter than this. */
  need(bytes: number): void {
    if (this.bodyEnd - this.bodyStart < bytes)
      throw malformed(`body of ${this.bodyEnd - this.bodyStart} bytes where ${bytes} are needed`);
  }

  /** `offset` counts from the body's start, here and below. */
  u8(offset: number): number {
    this.need(offset + 1);
    return this.view.getUint8(this.bodyStart + offset);
  }

  u16(offset: number): number {
    this.need(offset + 2);
    return this.view.getUint16(this.bodyStart + offset, true);
  }

  u32(offset: number): number {
    this.need(offset + 4);
    return this.view.getUint32(this.bodyStart + offset, true);
  }

  i32(offset: number): number {
    this.need(offset + 4);
    return this.view.getInt32(this.bodyStart + offset, true);
  }
}
