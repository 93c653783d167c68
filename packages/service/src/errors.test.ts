import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SERVICE_ERROR_CODES } from "./errors.ts";

test("the README lists exactly the error codes", () => {
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const listed = [...readme.matchAll(/^\| `(SERVICE_[A-Z_]+)`/gm)].map((match) => match[1]);
  assert.deepEqual(listed, [...SERVICE_ERROR_CODES]);
});
