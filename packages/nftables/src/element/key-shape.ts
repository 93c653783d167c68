import { align4 } from "@bulrush/netlink";
import { invalid } from "../invalid.ts";
import type { KeyField } from "../state.ts";
import { DATATYPE_BITS } from "../wire/datatype.ts";
import { type KeyFieldShape, keyFieldOf, keyFieldShape } from "./key-field.ts";

/** A whole key: one field, or several, each padded to four bytes. */
export interface KeyShape {
  readonly fields: readonly KeyFieldShape[];
  readonly datatype: number;
  readonly bytes: number;
}

const SEPARATOR = " . ";

export function keyShape(fields: readonly KeyField[]): KeyShape {
  const shapes = fields.map(keyFieldShape);
  const [only] = shapes;
  if (only === undefined) throw invalid("set key", "");
  if (shapes.length === 1) return { fields: shapes, datatype: only.datatype, bytes: only.bytes };
  let datatype = 0;
  let bytes = 0;
  for (const shape of shapes) {
    datatype = (datatype << DATATYPE_BITS) | shape.datatype;
    bytes += align4(shape.bytes);
  }
  return { fields: shapes, datatype, bytes };
}

/** The fields of a datatype number read from the kernel; `undefined` when we never use one of them. */
export function keyFieldsOf(datatype: number): KeyField[] | undefined {
  const fields: KeyField[] = [];
  for (let rest = datatype; rest > 0; rest >>>= DATATYPE_BITS) {
    const field = keyFieldOf(rest & ((1 << DATATYPE_BITS) - 1));
    if (field === undefined) return undefined;
    fields.unshift(field);
  }
  return fields.length === 0 ? undefined : fields;
}

/** The key's bytes of an element's text. Throws NFT_INVALID. */
export function encodeKey(shape: KeyShape, text: string): Uint8Array {
  const [only] = shape.fields;
  if (shape.fields.length === 1 && only !== undefined) {
    const bytes = only.encode(text);
    if (bytes === undefined) throw invalid("set element", text);
    return bytes;
  }
  const parts = text.split(SEPARATOR);
  if (parts.length !== shape.fields.length) throw invalid("set element", text);
  const key = new Uint8Array(shape.bytes);
  let at = 0;
  for (const [i, field] of shape.fields.entries()) {
    const bytes = field.encode(parts[i] ?? "");
    if (bytes === undefined) throw invalid("set element", text);
    key.set(bytes, at);
    at += align4(field.bytes);
  }
  return key;
}

/** The canonical text of a key. */
export function decodeKey(shape: KeyShape, key: Uint8Array): string {
  const [only] = shape.fields;
  if (shape.fields.length === 1 && only !== undefined) return only.decode(key);
  const parts: string[] = [];
  let at = 0;
  for (const field of shape.fields) {
    parts.push(field.decode(key.subarray(at, at + field.bytes)));
    at += align4(field.bytes);
  }
  return parts.join(SEPARATOR);
}
