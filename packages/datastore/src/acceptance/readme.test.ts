import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

const SOURCE = join(import.meta.dirname, "..");
const README = readFileSync(join(SOURCE, "..", "README.md"), "utf8");
const FAULTS = /## Faults that are not copied\n([\s\S]*?)\n## /.exec(README)?.[1] ?? "";

/** The last column: a file, and words of the title of a test in it. */
const ROWS = [...FAULTS.matchAll(/^\|.*\| `([^`]+)` "(.+)" \|$/gm)].map(([, file = "", words = ""]) => ({
  file,
  words,
}));

describe("the README's table of faults", () => {
  test("has a row for each", () => assert.equal(ROWS.length, 14));
  for (const { file, words } of ROWS)
    test(`names a test: "${words}"`, () => assert.ok(readFileSync(join(SOURCE, file), "utf8").includes(words)));
});
