import assert from "node:assert/strict";
import { test } from "node:test";
import { prettyLine } from "./pretty.ts";

const line = (fields: object): string =>
  JSON.stringify({ level: "info", time: "2026-08-01T12:34:56.789Z", msg: "Client connected", ...fields });

test("prettyLine() shows time of day, level, message and pairs", () => {
  assert.equal(
    prettyLine(line({ peer: "10.0.0.7", why: "two words", list: [1] }), false),
    '12:34:56.789 INFO  Client connected peer=10.0.0.7 why="two words" list=[1]\n',
  );
});

test("prettyLine() puts the stack below, when an error is an error", () => {
  const error = { name: "Error", message: "Bad", stack: "Error: Bad\n    at x" };
  assert.match(prettyLine(line({ level: "error", error }), false), /error=Bad\n {2}Error: Bad\n {6}at x\n$/);
  assert.match(prettyLine(line({ level: "warn", error }), false), /error=Bad\n$/);
});

test("prettyLine() colours only when asked, and leaves other text alone", () => {
  assert.ok(prettyLine(line({}), true).includes("\u001B["));
  assert.equal(prettyLine("not json\n", false), "not json\n");
});
