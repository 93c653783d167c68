import assert from "node:assert/strict";
import { test } from "node:test";
import { revisionNumber } from "./revision.ts";

test("revisionNumber() reads decimal revisions, also with an etcd's cluster behind them, and nothing else", () => {
  for (const [text, wanted] of [
    ["0", 0],
    ["17", 17],
    ["999999999999999", 999_999_999_999_999],
    ["1000000000000000", undefined],
    ["17@cdf818194e3a8c32", 17],
    ["0@1", 0],
    ["17@", undefined],
    ["17@xyz", undefined],
    ["17@cdf818194e3a8c320", undefined],
    ["@cdf818194e3a8c32", undefined],
    ["", undefined],
    ["12/345", undefined],
    ["-1", undefined],
    ["1e3", undefined],
    ["7f", undefined],
  ] as const)
    assert.equal(revisionNumber(text), wanted, text);
});
