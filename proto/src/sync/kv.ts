import type { UpdateType } from "@bulrush/model";
import { ProtoError } from "./errors.ts";
import { badField, type FieldType } from "./field.ts";
import type { KV } from "./message.ts";
import { PackedKVs } from "./packed-kvs.ts";
import { isResourcePath, resourceFromWire, resourceToWire } from "./resource-maps.ts";

/** By wire number. */
const UPDATE_TYPES: readonly UpdateType[] = ["unknown", "new", "updated", "deleted"];
export const UPDATE_TYPE_NUMBERS: Readonly<Record<UpdateType, number>> = { unknown: 0, new: 1, updated: 2, deleted: 3 };

const MAX_PATH = 2048;
const MAX_REVISION = 256;

/**
 * KVs as arrays `[path, value, revision, update type]`. The bound on their number is the decoder's (DecodeLimits), as
 * it depends on who reads.
 */
export const kvList: FieldType<readonly KV[]> = {
  spec: "array of [path: string of 1 to 2048; value: nil where the key is gone; revision: string of 0 to 256; update type: integer, 0 unknown 1 new 2 updated 3 deleted]",
  optional: false,
  // What is packed is written as it is.
  encode: (kvs) => ((kvs as unknown) instanceof PackedKVs ? kvs : kvs.map(wireKV)),
  decode(raw, field) {
    if (!Array.isArray(raw)) throw badField(field, "an array", raw);
    return raw.map((item: unknown, index) => decodeKV(item, field, index));
  },
};

/** The length of a message's KV list before it is read, for the bound. */
export function checkKVCount(raw: unknown, maxKVs: number, field: string): void {
  if (Array.isArray(raw) && raw.length > maxKVs)
    throw new ProtoError("PROTO_TOO_BIG", `Field ${field} has ${raw.length} KVs, over the bound of ${maxKVs}`, {
      data: { field, limit: maxKVs },
    });
}

/** A KV as the array that stands for it. What {@link decodeKV} would refuse is not sent. */
export function wireKV(kv: KV): readonly unknown[] {
  const { path, revision } = kv;
  if (path === "" || path.length > MAX_PATH) throw badField("path", `a string of 1 to ${MAX_PATH}`, path);
  if (revision.length > MAX_REVISION) throw badField("revision", `a string of 0 to ${MAX_REVISION}`, revision);
  const value = kv.value === undefined ? null : isResourcePath(kv.path) ? resourceToWire(kv.value) : kv.value;
  return [kv.path, value, kv.revision, UPDATE_TYPE_NUMBERS[kv.updateType]];
}

export function decodeKV(raw: unknown, field: string, index: number): KV {
  if (!Array.isArray(raw)) throw badField(`${field}[${index}]`, "an array", raw);
  const [path, value, revision, type] = raw as readonly unknown[];
  if (typeof path !== "string" || path === "" || path.length > MAX_PATH)
    throw badField(`${field}[${index}].path`, `a string of 1 to ${MAX_PATH}`, path);
  if (typeof revision !== "string" || revision.length > MAX_REVISION)
    throw badField(`${field}[${index}].revision`, `a string of 0 to ${MAX_REVISION}`, revision);
  const updateType = typeof type === "number" ? UPDATE_TYPES[type] : undefined;
  if (updateType === undefined) throw badField(`${field}[${index}].updateType`, "an integer 0 to 3", type);
  return {
    path,
    value: value === null || value === undefined ? undefined : isResourcePath(path) ? resourceFromWire(value) : value,
    revision,
    updateType,
  };
}
