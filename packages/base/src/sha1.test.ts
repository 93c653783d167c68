import assert from "node:assert/strict";
import { test } from "node:test";
import { sha1 } from "./sha1.ts";

test("sha1() gives the digest of FIPS 180-2's example", () => {
  assert.equal(Buffer.from(sha1("abc")).toString("hex"), "a9993e364706816aba3e25717850c26c9cd0d89d");
});
