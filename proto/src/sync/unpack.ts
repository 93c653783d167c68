import { Unpackr } from "msgpackr";
import { ProtoError } from "./errors.ts";
import { scanBody } from "./scan.ts";

/** Inline record definitions: no state outlives a call, so that each body stands alone. */
const unpackr = new Unpackr({ useRecords: true, mapsAsObjects: false, int64AsType: "number" });

/** Reads a body after {@link scanBody} has found it well formed. */
export function unpackBody(body: Uint8Array): unknown {
  scanBody(body);
  try {
    return unpackr.unpack(body);
  } catch (cause) {
    throw new ProtoError("PROTO_MALFORMED", "The body cannot be decoded", { cause });
  }
}
