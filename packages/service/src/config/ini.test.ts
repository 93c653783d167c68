import assert from "node:assert/strict";
import { test } from "node:test";
import { parseIni } from "./ini.ts";

const pairs = (text: string): string[] =>
  parseIni(text).entries.map(({ name, value, line }) => `${line}:${name}=${value}`);

test("parseIni() merges sections and skips comments and blanks", () => {
  assert.deepEqual(
    pairs("\uFEFF# comment\n; another\r\n[global]\nA = 1\n\n[felix] ; with a comment\n  b=2  \nC: x y\n"),
    ["4:A=1", "7:b=2", "8:C=x y"],
  );
});

test("parseIni() reads values", () => {
  const rows: readonly [text: string, value: string][] = [
    ["A = v # comment", "v"],
    ["A = v ; comment", "v"],
    ["A = a#b;c", "a#b;c"],
    ['A = "a # b"', "a # b"],
    ["A = 'x' ; c", "x"],
    ["A = a=b", "a=b"],
    ["A =", ""],
    ["A = # nothing", ""],
    ["A = http://x:1", "http://x:1"],
  ];
  for (const [text, value] of rows) assert.deepEqual(parseIni(text).entries, [{ name: "A", value, line: 1 }], text);
});

test("parseIni() names the line, when it is malformed", () => {
  assert.deepEqual(
    parseIni("A=1\nwords\n[open\n= 2\nB=3").problems.map(({ line }) => line),
    [2, 3, 4],
  );
});
