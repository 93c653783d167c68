import assert from "node:assert/strict";
import { test } from "node:test";
import { readYamlDocument } from "./yaml-document.ts";

test("readYamlDocument() reads YAML and JSON, with the lines of what is in it", () => {
  const read = readYamlDocument("a:\n- b: 1\n- b: [2,\n    3]\n");
  assert.ok("value" in read);
  assert.deepEqual(read.value, { a: [{ b: 1 }, { b: [2, 3] }] });
  assert.deepEqual(
    [read.lineOf([]), read.lineOf(["a", 1]), read.lineOf(["a", 1, "b", 1]), read.lineOf(["a", 0, "none"])],
    [1, 3, 4, 2],
  );
  const json = readYamlDocument('{"a": [1]}');
  assert.deepEqual("value" in json && json.value, { a: [1] });
});

test("readYamlDocument() says what is wrong and where", () => {
  const rows: readonly (readonly [text: string, problem: RegExp, line: number])[] = [
    ["a: 1\nb: [", /flow|end/i, 2],
    ["a: 1\na: 2\n", /unique/i, 2],
    ["a: 1\n---\nb: 2\n", /multiple documents/i, 2],
    [BOMB, /alias/i, 1],
  ];
  for (const [text, problem, line] of rows) {
    const read = readYamlDocument(text);
    assert.ok("problem" in read, text);
    assert.match(read.problem, problem);
    assert.equal(read.line, line, text);
  }
});

/** Ten of ten of ten of ten: ten thousand nodes out of four lines. */
const BOMB = [
  `a: &a [${Array.from({ length: 10 }, () => "x").join(", ")}]`,
  `b: &b [${Array.from({ length: 10 }, () => "*a").join(", ")}]`,
  `c: &c [${Array.from({ length: 10 }, () => "*b").join(", ")}]`,
  `d: &d [${Array.from({ length: 10 }, () => "*c").join(", ")}]`,
].join("\n");
