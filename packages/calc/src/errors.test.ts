import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CALC_ERROR_CODES } from "./errors.ts";

test("CALC_ERROR_CODES are the codes of the README", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const documented = [...readme.matchAll(/^\| `(CALC_[A-Z_]+)` \|/gm)].map((match) => match[1]);
  assert.deepEqual(new Set(documented), new Set(CALC_ERROR_CODES));
});
