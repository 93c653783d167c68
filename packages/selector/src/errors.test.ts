import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { SELECTOR_ERROR_CODES } from "./errors.ts";

it("SELECTOR_ERROR_CODES are those of the README", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const listed = [...readme.matchAll(/^\| `(SELECTOR_[A-Z_]+)` \|/gm)].map((match) => match[1]);
  assert.deepEqual(listed, [...SELECTOR_ERROR_CODES]);
});
