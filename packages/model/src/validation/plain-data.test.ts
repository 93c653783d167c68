import assert from "node:assert/strict";
import { test } from "node:test";
import { plainDataIssue } from "./plain-data.ts";

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

test("plainDataIssue() takes plain data down to its bound", () => {
  for (const value of [
    undefined,
    null,
    1,
    "x",
    true,
    [],
    {},
    new Map([["a", [null]]]),
    Object.create(null),
    nested(32),
  ])
    assert.equal(plainDataIssue(value, 32), undefined);
});

test("plainDataIssue() names the first thing that is deeper, however deep it goes", () => {
  for (const levels of [33, 200_000]) {
    const issue = plainDataIssue(nested(levels), 32);
    assert.equal(issue?.message, "Nested too deep");
    assert.equal(issue.path.length, 32);
  }
});

test("plainDataIssue() names what no JSON has, and where", () => {
  for (const [value, found] of [
    [new Date(0), "Date"],
    [new Set(), "Set"],
    [Buffer.from("x"), "Buffer"],
    [1n, "bigint"],
    [() => 1, "function"],
  ] as const) {
    const issue = plainDataIssue({ spec: { list: ["x", 1, { odd: value }] } }, 32);
    assert.deepEqual(issue?.path, ["spec", "list", 2, "odd"]);
    assert.match(issue?.message ?? "", new RegExp(`found a ${found}$`));
  }
});
