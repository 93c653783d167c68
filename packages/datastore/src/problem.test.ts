import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem } from "./problem.ts";

test("formatProblem() is one line that does nothing to a terminal, whatever the input holds", () => {
  const problem = formatProblem({
    severity: "error",
    message: 'Cannot parse, found "\n"',
    source: { file: "a\u001b[2J.yaml", document: 1, line: 3 },
    kind: "Tier",
    name: "o\rdd",
    field: "spec.\u001b[31m\nfoo",
    effect: "ignored",
  });
  assert.equal(
    problem,
    String.raw`a\u001b[2J.yaml:3: Tier o\u000ddd: spec.\u001b[31m\u000afoo: Cannot parse, found "\u000a"; ignored`,
  );
});
