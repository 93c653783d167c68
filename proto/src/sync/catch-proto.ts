import assert from "node:assert/strict";
import { ProtoError } from "./errors.ts";

/** For tests: what `call` throws, which must be a ProtoError. */
export function catchProto(call: () => unknown): ProtoError {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof ProtoError, `threw ${String(error)}`);
    return error;
  }
  assert.fail("did not throw");
}
