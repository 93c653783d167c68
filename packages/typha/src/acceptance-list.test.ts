import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const LIST = readFileSync(new URL("../testdata/acceptance.txt", import.meta.url), "utf8");

const rows = LIST.split("\n")
  .filter((line) => line.includes(" | ") && !line.startsWith("#"))
  .map((line) => line.split(" | "));

test("the list of promises names a test for each", () => {
  assert.ok(rows.length >= 50, `${rows.length} rows`);
  for (const [what, file, words, ...more] of rows) {
    assert.ok(file !== undefined && words !== undefined && more.length === 0, what);
    assert.ok(readFileSync(join(ROOT, file), "utf8").includes(words), `${what}: ${file} has no "${words}"`);
  }
});
