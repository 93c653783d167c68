import { ProtoError } from "./errors.ts";
import { MAX_DEPTH, maxContainers } from "./limits.ts";
import { DEFINITION_COST, MAX_RECORD_FIELDS, RECORD_ID_COUNT, RECORD_ID_MIN } from "./records.ts";

/** Extension types (MessagePack extensions as msgpackr uses them). */
const EXT_RECORD = 0x72;
const EXT_UNDEFINED = 0x00;

/** Frames of the stack: what a container holds. */
const ITEMS = 0;
const MAP = 1;

/**
 * Checks that `body` is exactly one MessagePack value of the kind that the protocol uses, without making anything:
 * nil, booleans, numbers, strings, arrays, maps with string keys, records defined inline, and the one-byte extension
 * that stands for "undefined". Lengths are held against the bytes that are left, nesting against MAX_DEPTH, and the
 * number of containers against the size, as a container may be one byte on the wire and two hundred in memory.
 *
 * Throws PROTO_TRUNCATED, PROTO_TOO_BIG or PROTO_MALFORMED.
 */
export function scanBody(body: Uint8Array): void {
  new Scanner(body).run();
}

class Scanner {
  readonly #body: Uint8Array;
  readonly #end: number;
  #position = 0;
  #containersLeft: number;
  #depth = 0;
  readonly #left = new Int32Array(MAX_DEPTH + 1);
  readonly #kind = new Uint8Array(MAX_DEPTH + 1);
  /** Fields of each record id; -1 while it is not defined. */
  #recordFields: Int16Array | undefined;

  constructor(body: Uint8Array) {
    this.#body = body;
    this.#end = body.length;
    this.#containersLeft = maxContainers(body.length);
  }

  run(): void {
    this.#left[0] = 1;
    for (;;) {
      const left = this.#left[this.#depth] as number;
      if (left === 0) {
        if (this.#depth === 0) break;
        this.#depth--;
        continue;
      }
      this.#left[this.#depth] = left - 1;
      // A map of n entries holds 2n items, so that a key is next while an even number is left.
      if (this.#kind[this.#depth] === MAP && (left & 1) === 0) this.#string();
      else this.#value();
    }
    if (this.#position !== this.#end)
      throw new ProtoError("PROTO_MALFORMED", `${this.#end - this.#position} bytes follow the message`);
  }

  #value(): void {
    const token = this.#byte();
    if (token < 0x40 || token >= 0xe0) return;
    if (token < 0x80) this.#open(ITEMS, this.#fieldsOf(token));
    else if (token < 0x90) this.#open(MAP, (token & 0x0f) * 2);
    else if (token < 0xa0) this.#open(ITEMS, token & 0x0f);
    else if (token < 0xc0) this.#skip(token & 0x1f);
    else this.#wide(token);
  }

  #wide(token: number): void {
    switch (token) {
      case 0xc0: // nil
      case 0xc2: // false
      case 0xc3: // true
        return;
      case 0xca: // float 32
      case 0xce: // uint 32
      case 0xd2: // int 32
        this.#skip(4);
        return;
      case 0xcb: // float 64
      case 0xcf: // uint 64
      case 0xd3: // int 64
        this.#skip(8);
        return;
      case 0xcc: // uint 8
      case 0xd0: // int 8
        this.#skip(1);
        return;
      case 0xcd: // uint 16
      case 0xd1: // int 16
        this.#skip(2);
        return;
      case 0xd4: // fixext 1
        this.#extension();
        return;
      case 0xd9: // str 8
        this.#skip(this.#uint(1));
        return;
      case 0xda: // str 16
        this.#skip(this.#uint(2));
        return;
      case 0xdb: // str 32
        this.#skip(this.#uint(4));
        return;
      case 0xdc: // array 16
        this.#open(ITEMS, this.#uint(2));
        return;
      case 0xdd: // array 32
        this.#open(ITEMS, this.#uint(4));
        return;
      case 0xde: // map 16
        this.#open(MAP, this.#uint(2) * 2);
        return;
      case 0xdf: // map 32
        this.#open(MAP, this.#uint(4) * 2);
        return;
      default:
        throw this.#malformed(`Token 0x${token.toString(16)} is not used by the protocol`);
    }
  }

  /** After 0xd4: a record definition with the record that follows it, or "undefined". */
  #extension(): void {
    const type = this.#byte();
    const data = this.#byte();
    if (type === EXT_UNDEFINED) return;
    if (type !== EXT_RECORD) throw this.#malformed(`Extension type ${type} is not used by the protocol`);
    const id = data - RECORD_ID_MIN;
    if (id < 0 || id >= RECORD_ID_COUNT) throw this.#malformed(`Record id ${data} is out of range`);
    const token = this.#byte();
    let fields: number;
    if (token >= 0x90 && token < 0xa0) fields = token & 0x0f;
    else if (token === 0xdc) fields = this.#uint(2);
    else throw this.#malformed("The field names of a record are not an array");
    if (fields > MAX_RECORD_FIELDS) throw this.#tooBig(`A record has ${fields} fields`, MAX_RECORD_FIELDS);
    this.#spend(DEFINITION_COST);
    for (let i = 0; i < fields; i++) this.#string();
    this.#recordFields ??= new Int16Array(RECORD_ID_COUNT).fill(-1);
    this.#recordFields[id] = fields;
    this.#open(ITEMS, fields);
  }

  #fieldsOf(token: number): number {
    const fields = this.#recordFields?.[token - RECORD_ID_MIN] ?? -1;
    if (fields < 0) throw this.#malformed(`Record id ${token} is not defined`);
    return fields;
  }

  #string(): void {
    const token = this.#byte();
    if (token >= 0xa0 && token < 0xc0) this.#skip(token & 0x1f);
    else if (token === 0xd9) this.#skip(this.#uint(1));
    else if (token === 0xda) this.#skip(this.#uint(2));
    else throw this.#malformed("The key of a map or record is not a string");
  }

  #open(kind: number, items: number): void {
    if (items > this.#end - this.#position) throw this.#truncated();
    this.#spend(1);
    if (items === 0) return;
    if (this.#depth === MAX_DEPTH) throw this.#tooBig("The body nests too deep", MAX_DEPTH);
    this.#depth++;
    this.#left[this.#depth] = items;
    this.#kind[this.#depth] = kind;
  }

  #spend(containers: number): void {
    this.#containersLeft -= containers;
    if (this.#containersLeft < 0) throw this.#tooBig("The body has too many containers for its size", this.#end);
  }

  #skip(bytes: number): void {
    if (bytes > this.#end - this.#position) throw this.#truncated();
    this.#position += bytes;
  }

  #byte(): number {
    if (this.#position >= this.#end) throw this.#truncated();
    return this.#body[this.#position++] as number;
  }

  #uint(bytes: 1 | 2 | 4): number {
    let value = 0;
    for (let i = 0; i < bytes; i++) value = value * 256 + this.#byte();
    return value;
  }

  #truncated(): ProtoError {
    return new ProtoError("PROTO_TRUNCATED", "The body ends inside a value", { data: { bytes: this.#end } });
  }

  #malformed(message: string): ProtoError {
    return new ProtoError("PROTO_MALFORMED", message, { data: { offset: this.#position } });
  }

  #tooBig(message: string, limit: number): ProtoError {
    return new ProtoError("PROTO_TOO_BIG", message, { data: { limit, offset: this.#position } });
  }
}
