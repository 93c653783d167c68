import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { COMMANDS } from "./commands/table.ts";
import { CTL_ERROR_CODES } from "./errors.ts";

const README = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");

test("the README lists exactly the error codes", () => {
  const listed = [...README.matchAll(/^\| `(CTL_[A-Z_]+)`/gm)].map((match) => match[1]);
  assert.deepEqual(listed, [...CTL_ERROR_CODES]);
});

test("the README lists exactly the commands", () => {
  const listed = [...README.matchAll(/^\| `([a-z-]+) /gm)].map((match) => match[1]);
  assert.deepEqual(
    listed,
    COMMANDS.map(({ name }) => name),
  );
});
