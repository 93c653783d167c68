import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { SYNC_CLIENT_ERROR_CODES } from "./errors.ts";

test("the README lists every error code with its meaning", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const rows = [...readme.matchAll(/^\| (SYNC_CLIENT_\w+) \| (.*) \|$/gm)].map((row) => [row[1], row[2]]);
  assert.deepEqual(rows, Object.entries(SYNC_CLIENT_ERROR_CODES));
});
