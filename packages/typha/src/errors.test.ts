import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { TYPHA_ERROR_CODES } from "./errors.ts";

test("TYPHA_ERROR_CODES is the list of the README", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const listed = [...readme.matchAll(/^\| `(TYPHA_[A-Z_]+)` \|/gm)].map(([, code]) => code);
  assert.deepEqual(listed, Object.keys(TYPHA_ERROR_CODES));
});
