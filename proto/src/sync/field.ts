import { ProtoError } from "./errors.ts";

/** How one field stands on the wire. `decode` throws PROTO_BAD_FIELD naming the field. */
export interface FieldType<T> {
  /** The type in the words of the README's tables; part of the schema hash. */
  readonly spec: string;
  readonly optional: boolean;
  encode(value: T): unknown;
  decode(raw: unknown, field: string): T;
}

export function badField(field: string, wanted: string, raw: unknown): ProtoError {
  return new ProtoError("PROTO_BAD_FIELD", `Field ${field} is ${describe(raw)}, not ${wanted}`, { data: { field } });
}

function describe(raw: unknown): string {
  if (raw === undefined || raw === null) return "missing";
  if (typeof raw === "string") return raw.length > 40 ? `a string of ${raw.length} characters` : JSON.stringify(raw);
  if (typeof raw === "number" || typeof raw === "boolean" || typeof raw === "bigint") return String(raw);
  return Array.isArray(raw) ? "an array" : "a map or record";
}

function plain<T>(spec: string, isValid: (raw: unknown) => boolean): FieldType<T> {
  return {
    spec,
    optional: false,
    encode: (value) => value,
    decode(raw, field) {
      if (!isValid(raw)) throw badField(field, spec, raw);
      return raw as T;
    },
  };
}

/** A whole number from `min` to `max`; by default any that a double holds exactly. */
export function uint(min = 0, max: number = Number.MAX_SAFE_INTEGER): FieldType<number> {
  const upper = max === Number.MAX_SAFE_INTEGER ? "2^53-1" : String(max);
  return plain(
    `integer ${min} to ${upper}`,
    (raw) => typeof raw === "number" && Number.isSafeInteger(raw) && raw >= min && raw <= max,
  );
}

/** A finite number of milliseconds, not negative, fractions allowed. */
export function milliseconds(): FieldType<number> {
  return plain("number from 0", (raw) => typeof raw === "number" && Number.isFinite(raw) && raw >= 0);
}

/** A string of `min` to `max` UTF-16 code units. */
export function text(min: number, max: number): FieldType<string> {
  return plain(
    `string of ${min} to ${max}`,
    (raw) => typeof raw === "string" && raw.length >= min && raw.length <= max,
  );
}

/** One of a closed list of words. */
export function oneOf<T extends string>(words: readonly T[]): FieldType<T> {
  const known: ReadonlySet<unknown> = new Set(words);
  return plain(`one of ${words.join(", ")}`, (raw) => known.has(raw));
}

/** A word of a list that may grow: what is not known reads as `fallback`. */
export function openOneOf<T extends string>(words: readonly T[], fallback: T): FieldType<T> {
  const known: ReadonlySet<unknown> = new Set(words);
  const spec = `one of ${words.join(", ")}; any other string reads as ${fallback}`;
  return {
    spec,
    optional: false,
    encode: (value) => value,
    decode(raw, field) {
      if (typeof raw !== "string" || raw.length > 64) throw badField(field, spec, raw);
      return known.has(raw) ? (raw as T) : fallback;
    },
  };
}

/** An array of at most `max` items. */
export function list<T>(item: FieldType<T>, max: number): FieldType<readonly T[]> {
  const spec = `array of at most ${max}: ${item.spec}`;
  return {
    spec,
    optional: false,
    encode: (values) => values.map((value) => item.encode(value)),
    decode(raw, field) {
      if (!Array.isArray(raw)) throw badField(field, spec, raw);
      if (raw.length > max)
        throw new ProtoError("PROTO_TOO_BIG", `Field ${field} has ${raw.length} items, over the bound of ${max}`, {
          data: { field, limit: max },
        });
      return raw.map((value, index) => item.decode(value, `${field}[${index}]`));
    },
  };
}

/** The fields of `T` in wire order: one element of an array each. Order is position; see {@link encodeFields}. */
export type FieldTable<T> = { readonly [Name in keyof T]-?: FieldType<Exclude<T[Name], undefined>> };

/** A group of fields as a nested array. */
export function group<T extends object>(table: FieldTable<T>): FieldType<T> {
  const spec = `[${Object.entries<FieldType<unknown>>(table)
    .map(([name, type]) => `${name}: ${type.spec}`)
    .join("; ")}]`;
  return {
    spec,
    optional: false,
    encode: (value) => encodeFields(table, value, []),
    decode(raw, field) {
      if (!Array.isArray(raw)) throw badField(field, "an array", raw);
      return decodeFields(table, raw, 0, `${field}.`);
    },
  };
}

/** A field that may be nil, or missing at the end. */
export function optional<T>(type: FieldType<T>): FieldType<T> {
  return { ...type, spec: `optional ${type.spec}`, optional: true };
}

/** Appends the fields of `value` to `out`, nil where one is absent. */
export function encodeFields<T extends object>(table: FieldTable<T>, value: T, out: unknown[]): unknown[] {
  for (const name of Object.keys(table) as (keyof T)[]) {
    const field = value[name];
    out.push(field === undefined ? null : table[name].encode(field as Exclude<T[keyof T], undefined>));
  }
  return out;
}

/** Reads the fields of `table` from `raw`, from `start` on. What follows them is of a newer version, and ignored. */
export function decodeFields<T extends object>(
  table: FieldTable<T>,
  raw: readonly unknown[],
  start: number,
  prefix: string,
): T {
  const out: Partial<T> = {};
  let index = start;
  for (const name of Object.keys(table) as (keyof T & string)[]) {
    const type = table[name];
    const value = raw[index++] ?? undefined;
    if (value === undefined && type.optional) continue;
    out[name] = type.decode(value, prefix + name);
  }
  return out as T;
}
