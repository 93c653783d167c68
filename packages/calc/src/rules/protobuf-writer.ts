const ENCODER = new TextEncoder();
const VARINT = 0;
const LENGTH_DELIMITED = 2;

/**
 * Writes the protobuf wire format (https://protobuf.dev/programming-guides/encoding/), proto3: the caller leaves out
 * fields with default values and writes in order of field number. One writer serves many messages: `reset` between.
 *
 * Invariant: bytes 0 to `length` of the buffer are what was written.
 */
export class ProtobufWriter {
  #buffer = new Uint8Array(1024);
  #length = 0;

  reset(): void {
    this.#length = 0;
  }

  /** A copy of what was written. */
  bytes(): Uint8Array {
    return this.#buffer.slice(0, this.#length);
  }

  /** Bytes as they are, without tag or length. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  int(field: number, value: number): void {
    this.#tag(field, VARINT);
    this.#varint(value);
  }

  string(field: number, value: string): void {
    this.#tag(field, LENGTH_DELIMITED);
    // A UTF-16 unit takes three bytes at most; the length is known only after encoding.
    this.#reserve(value.length * 3 + 5);
    const start = this.#length + 1;
    const { written } = ENCODER.encodeInto(value, this.#buffer.subarray(start));
    this.#length = start + written;
    this.#fixLength(start);
  }

  /** Starts a nested message; give the result to `end`. */
  begin(field: number): number {
    this.#tag(field, LENGTH_DELIMITED);
    this.#reserve(1);
    this.#length++;
    return this.#length;
  }

  end(start: number): void {
    this.#fixLength(start);
  }

  /** Writes the length before `start`, where one byte was left for it: moves the content when it needs more. */
  #fixLength(start: number): void {
    const size = this.#length - start;
    let extra = 0;
    for (let rest = size >>> 7; rest > 0; rest >>>= 7) extra++;
    if (extra > 0) {
      this.#reserve(extra);
      this.#buffer.copyWithin(start + extra, start, this.#length);
    }
    const end = this.#length + extra;
    this.#length = start - 1;
    this.#varint(size);
    this.#length = end;
  }

  #tag(field: number, type: number): void {
    this.#varint(field * 8 + type);
  }

  #varint(value: number): void {
    this.#reserve(10);
    let rest = value >>> 0;
    while (rest > 127) {
      this.#buffer[this.#length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#buffer[this.#length++] = rest;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(this.#buffer.length * 2, this.#length + size));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}
