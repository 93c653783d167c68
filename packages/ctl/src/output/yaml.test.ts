import assert from "node:assert/strict";
import { test } from "node:test";
import { formatJson } from "./json.ts";
import { formatYaml } from "./yaml.ts";

test("formatYaml() writes blocks", () => {
  assert.equal(
    formatYaml({
      verdict: "deny",
      egress: { rule: null, why: "no policy: allowed by default", steps: [] },
      labels: new Map([
        ["b", "2"],
        ["a", "x"],
      ]),
      list: [1, { a: 1, b: [true] }, [2, 3]],
      empty: {},
    }),
    [
      "verdict: deny",
      "egress:",
      "  rule: null",
      '  why: "no policy: allowed by default"',
      "  steps: []",
      "labels:",
      "  a: x",
      '  b: "2"',
      "list:",
      "  - 1",
      "  - a: 1",
      "    b:",
      "      - true",
      "  - - 2",
      "    - 3",
      "empty: {}",
      "",
    ].join("\n"),
  );
});

test("formatYaml() quotes what a reader might take for something else", () => {
  for (const text of [
    "",
    "yes",
    "NO",
    "null",
    "12",
    "1e3",
    "0x1",
    "a: b",
    "# x",
    "- a",
    "a ",
    "x #y",
    "*",
    "&a",
    "tab\t",
    "s:abc",
    "10.0.0.1",
    "~",
    "on",
    "{a}",
    "ä",
  ])
    assert.equal(formatYaml(text), `${JSON.stringify(text)}\n`, text);
  for (const text of ["plain", "NetworkPolicy/shop/web", "two words", "node-1", "/calico/v1/x"])
    assert.equal(formatYaml(text), `${text}\n`, text);
});

test("formatJson() writes Maps as sorted objects and Sets as arrays", () => {
  assert.equal(
    formatJson({
      m: new Map<string, unknown>([
        ["b", 1],
        ["a", new Set([2])],
      ]),
    }),
    '{"m":{"a":[2],"b":1}}',
  );
});
