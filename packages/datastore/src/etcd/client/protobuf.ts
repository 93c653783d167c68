import { DatastoreError } from "../../errors.ts";

/**
 * Protocol Buffers, as far as etcd's API needs them (https://protobuf.dev/programming-guides/encoding). A message is a
 * plain object; what it has is said by a schema that stands beside its type:
 *
 *     const pair: Schema<Pair> = { key: [1, "bytes"], version: [4, "int64"] };
 *
 * int64 is a number, since what etcd counts stays below 2^53; uint64 is a bigint, since its ids are random.
 */
export type Schema<T> = { readonly [K in keyof T]-?: FieldOf<Exclude<T[K], undefined>> };

type FieldOf<V> = V extends Buffer
  ? readonly [id: number, type: "bytes"]
  : V extends string
    ? readonly [id: number, type: "string"]
    : V extends boolean
      ? readonly [id: number, type: "bool"]
      : V extends bigint
        ? readonly [id: number, type: "uint64"]
        : V extends number
          ? readonly [id: number, type: "int64" | "int32"]
          : V extends readonly (infer E)[]
            ? readonly [id: number, type: "repeated", schema: () => Schema<E>]
            : readonly [id: number, type: "message", schema: () => Schema<V>];

type AnyField = readonly [id: number, type: string, schema?: () => AnySchema];
type AnySchema = Readonly<Record<string, AnyField>>;
type AnyMessage = Record<string, unknown>;

/** Wire types. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

const MAX_NESTING = 8;

/** Fields that are undefined are left out; all others are written, zeros too. */
export function encodeMessage<T extends object>(schema: Schema<T>, message: T): Buffer {
  const parts: Buffer[] = [];
  encodeInto(parts, schema as unknown as AnySchema, message as AnyMessage);
  return Buffer.concat(parts);
}

function encodeInto(parts: Buffer[], schema: AnySchema, message: AnyMessage): void {
  for (const [name, [id, type, nested]] of Object.entries(schema)) {
    const value = message[name];
    if (value === undefined) continue;
    switch (type) {
      case "int64":
      case "int32":
        parts.push(varint(tag(id, VARINT)), varint(BigInt.asUintN(64, BigInt(value as number))));
        break;
      case "uint64":
        parts.push(varint(tag(id, VARINT)), varint(value as bigint));
        break;
      case "bool":
        parts.push(varint(tag(id, VARINT)), varint(value === true ? 1n : 0n));
        break;
      case "string":
        pushBytes(parts, id, Buffer.from(value as string, "utf8"));
        break;
      case "bytes":
        pushBytes(parts, id, value as Buffer);
        break;
      default:
        for (const one of type === "repeated" ? (value as AnyMessage[]) : [value as AnyMessage]) {
          const inner: Buffer[] = [];
          if (nested !== undefined) encodeInto(inner, nested(), one);
          pushBytes(parts, id, Buffer.concat(inner));
        }
    }
  }
}

function tag(id: number, wireType: number): bigint {
  return BigInt(id * 8 + wireType);
}

function pushBytes(parts: Buffer[], id: number, bytes: Buffer): void {
  parts.push(varint(tag(id, LENGTH)), varint(BigInt(bytes.length)), bytes);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

/**
 * Reads a message. Scalars that are not there are zero or empty, lists empty, messages undefined; unknown fields are
 * skipped. Bytes are views of `bytes`.
 *
 * @throws DatastoreError DATASTORE_MALFORMED.
 */
export function decodeMessage<T>(schema: Schema<T>, bytes: Buffer): T {
  return new Reader(bytes).message(schema as unknown as AnySchema, bytes.length, 0) as T;
}

interface Plan {
  readonly defaults: readonly (readonly [string, () => unknown])[];
  readonly fields: ReadonlyMap<number, readonly [string, AnyField]>;
}

const plans = new WeakMap<AnySchema, Plan>();

function planOf(schema: AnySchema): Plan {
  let plan = plans.get(schema);
  if (plan === undefined) {
    const entries = Object.entries(schema);
    plan = {
      defaults: entries.map(([name, [, type]]) => [name, DEFAULTS[type] ?? ((): undefined => undefined)] as const),
      fields: new Map(entries.map(([name, field]) => [field[0], [name, field] as const])),
    };
    plans.set(schema, plan);
  }
  return plan;
}

const EMPTY = Buffer.alloc(0);

const DEFAULTS: Readonly<Record<string, () => unknown>> = {
  int64: () => 0,
  int32: () => 0,
  uint64: () => 0n,
  bool: () => false,
  string: () => "",
  bytes: () => EMPTY,
  repeated: () => [],
};

function malformed(what: string): DatastoreError {
  return new DatastoreError(`etcd sent a message that cannot be read: ${what}`, { code: "DATASTORE_MALFORMED" });
}

class Reader {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  message(schema: AnySchema, end: number, depth: number): AnyMessage {
    if (depth > MAX_NESTING) throw malformed("nested too deep");
    const { defaults, fields } = planOf(schema);
    const message: AnyMessage = {};
    for (const [name, make] of defaults) message[name] = make();
    while (this.#position < end) {
      const key = this.#uint32();
      const wireType = key & 7;
      const known = fields.get(key >>> 3);
      if (known === undefined) {
        this.#skip(wireType, end);
        continue;
      }
      const [name, [, type, nested]] = known;
      const isNumber = type === "int64" || type === "int32" || type === "uint64" || type === "bool";
      if (wireType !== (isNumber ? VARINT : LENGTH)) throw malformed(`field ${name} has wire type ${wireType}`);
      if (type === "uint64") message[name] = this.#bigVarint();
      else if (isNumber) message[name] = type === "bool" ? this.#number() !== 0 : this.#number();
      else {
        const partEnd = this.#partEnd(end);
        if (type === "repeated")
          (message[name] as unknown[]).push(this.message(this.#nested(nested), partEnd, depth + 1));
        else if (type === "message") message[name] = this.message(this.#nested(nested), partEnd, depth + 1);
        else if (type === "bytes") message[name] = this.#bytes.subarray(this.#position, partEnd);
        else message[name] = this.#bytes.toString("utf8", this.#position, partEnd);
        this.#position = partEnd;
      }
    }
    if (this.#position !== end) throw malformed("a field is longer than its message");
    return message;
  }

  #nested(schema: (() => AnySchema) | undefined): AnySchema {
    if (schema === undefined) throw malformed("no schema");
    return schema();
  }

  #partEnd(end: number): number {
    const length = this.#uint32();
    if (length > end - this.#position) throw malformed("a field is longer than its message");
    return this.#position + length;
  }

  #byte(): number {
    const byte = this.#bytes[this.#position++];
    if (byte === undefined) throw malformed("it ends in the middle of a number");
    return byte;
  }

  #uint32(): number {
    const value = this.#number();
    if (value < 0 || value > 0xffff_ffff) throw malformed("a length or tag is out of range");
    return value;
  }

  /** A signed number of up to 64 bits. */
  #number(): number {
    const start = this.#position;
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 7; i++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    this.#position = start;
    const big = BigInt.asIntN(64, this.#bigVarint());
    const number = Number(big);
    if (!Number.isSafeInteger(number)) throw malformed(`the number ${big} is out of range`);
    return number;
  }

  #bigVarint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw malformed("a number has more than ten bytes");
  }

  #skip(wireType: number, end: number): void {
    switch (wireType) {
      case VARINT:
        this.#bigVarint();
        return;
      case FIXED64:
        this.#position += 8;
        break;
      case FIXED32:
        this.#position += 4;
        break;
      case LENGTH:
        this.#position = this.#partEnd(end);
        break;
      default:
        throw malformed(`wire type ${wireType}`);
    }
    if (this.#position > end) throw malformed("a field is longer than its message");
  }
}
