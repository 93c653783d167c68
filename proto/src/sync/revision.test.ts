import assert from "node:assert/strict";
import { test } from "node:test";
import { revisionNumber } from "./revision.ts";

test("revisionNumber() reads decimal revisions and nothing else", () => {
  for (const [text, wanted] of [
    ["0", 0],
    ["17", 17],
    ["999999999999999", 999_999_999_999_999],
    ["1000000000000000", undefined],
    ["", undefined],
    ["12/345", undefined],
    ["-1", undefined],
    ["1e3", undefined],
    ["7f", undefined],
  ] as const)
    assert.equal(revisionNumber(text), wanted, text);
});
