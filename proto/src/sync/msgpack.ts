import { Packr, Unpackr } from "msgpackr";
import { ProtoError } from "./errors.ts";
import { scanBody } from "./scan.ts";

/** Inline record definitions: no state outlives a call, so that each body stands alone. */
const packr = new Packr({ useRecords: true, moreTypes: false });
const unpackr = new Unpackr({ useRecords: true, mapsAsObjects: false, int64AsType: "number" });

/**
 * The body of a message. The returned bytes are a view into the encoder's own buffer: copy what is kept, before the
 * next call. Throws PROTO_MALFORMED for what has no encoding at all, such as nesting by the thousand.
 */
export function packBody(fields: readonly unknown[]): Uint8Array {
  try {
    return packr.pack(fields);
  } catch (cause) {
    throw new ProtoError("PROTO_MALFORMED", "The body cannot be encoded", { cause });
  }
}

/** Reads a body after {@link scanBody} has found it well formed. */
export function unpackBody(body: Uint8Array): unknown {
  scanBody(body);
  try {
    return unpackr.unpack(body);
  } catch (cause) {
    throw new ProtoError("PROTO_MALFORMED", "The body cannot be decoded", { cause });
  }
}
