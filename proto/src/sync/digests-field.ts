import { isDigestText } from "./bucket-digests.ts";
import { badField, type FieldType } from "./field.ts";

const SPEC = "base64 of 16 bytes for each of 1, 2, 4 ... or 1024 buckets";

/** Digests as `BucketDigests.encode` gives them. */
export const digests: FieldType<string> = {
  spec: SPEC,
  optional: false,
  encode: (value) => value,
  decode(raw, field) {
    if (typeof raw !== "string" || !isDigestText(raw)) throw badField(field, SPEC, raw);
    return raw;
  },
};
