import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { DATAPLANE_ERROR_CODES } from "./errors.ts";

it("DATAPLANE_ERROR_CODES are those that the README lists", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const listed = [...readme.matchAll(/^\| `(DATAPLANE_[A-Z_]+)` \|/gm)].map(([, code]) => code);
  assert.deepEqual(
    listed.sort((a = "", b = "") => (a < b ? -1 : 1)),
    [...DATAPLANE_ERROR_CODES].sort((a, b) => (a < b ? -1 : 1)),
  );
});
