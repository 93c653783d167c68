import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AGENT_ERROR_CODES } from "./errors.ts";

test("the README lists exactly the error codes", () => {
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const listed = [...readme.matchAll(/^\| `(AGENT_[A-Z_]+)`/gm)].map((match) => match[1]);
  assert.deepEqual(listed, [...AGENT_ERROR_CODES]);
});
