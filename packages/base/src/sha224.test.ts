import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { base64Url, sha224 } from "./sha224.ts";

test("base64Url() and sha224() agree with node:crypto for every length", () => {
  for (let length = 0; length < 70; length++) {
    const bytes = randomBytes(length);
    assert.equal(base64Url(bytes), bytes.toString("base64url"));
    assert.equal(base64Url(sha224(bytes)), createHash("sha224").update(bytes).digest("base64url"));
  }
});

test("sha224() gives the id of the selector that matches everything", () => {
  assert.equal(`s:${base64Url(sha224("s:all()"))}`, "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug");
});

test("sha224() hashes text by its UTF-8 bytes, and long input after short", () => {
  for (const text of ["", "a", "\u00e9\u20ac\u{1f600}", "x".repeat(55), "x".repeat(56), "\u20ac".repeat(5000), "b"])
    assert.equal(base64Url(sha224(text)), createHash("sha224").update(text, "utf8").digest("base64url"));
  for (const length of [119, 120, 128, 1000, 100_000, 3]) {
    const bytes = randomBytes(length);
    assert.equal(base64Url(sha224(bytes)), createHash("sha224").update(bytes).digest("base64url"));
  }
});
