import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { failedWith, NFT_ERROR_CODES, NftError } from "./errors.ts";

test("README lists every error code, and no other", () => {
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const listed = [...readme.matchAll(/^\| `(NFT_[A-Z_]+)` /gm)].map(([, code]) => code);
  assert.deepEqual(new Set(listed), new Set(Object.values(NFT_ERROR_CODES)));
});

test("failedWith() looks at the failing operations", () => {
  const failures = [{ index: 0, operation: "add-set ip t s", errno: 17, errnoName: "EEXIST" }];
  const error = new NftError("Transaction refused", { code: "NFT_REFUSED", op: "Run transaction", failures });
  assert.ok(failedWith(error, "EEXIST"));
  assert.ok(!failedWith(error, "ENOENT"));
  assert.ok(!failedWith(new Error("EEXIST"), "EEXIST"));
});
