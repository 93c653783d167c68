import assert from "node:assert/strict";
import { test } from "node:test";
import { toYaml } from "./yaml.ts";

test("toYaml() writes blocks, and quotes what YAML would take for something else", () => {
  const text = toYaml({
    name: "tiers.crd.projectcalico.org",
    words: ["Deny", "on", "Null", "5", "-1", "1e3", "a b", "a: b", "a #b", "- a", "", "x ", "@a", "*", "~", "y"],
    "x-a": { b: true, c: 1.5, none: null, empty: [], nothing: {} },
    $ref: [{ a: 1, b: [[1], [{ c: 2 }]] }, {}],
  });
  assert.equal(
    text,
    `name: tiers.crd.projectcalico.org
words:
  - Deny
  - "on"
  - "Null"
  - "5"
  - "-1"
  - "1e3"
  - a b
  - "a: b"
  - "a #b"
  - "- a"
  - ""
  - "x "
  - "@a"
  - "*"
  - "~"
  - "y"
x-a:
  b: true
  c: 1.5
  none: null
  empty: []
  nothing: {}
"$ref":
  - a: 1
    b:
      - - 1
      - - c: 2
  - {}
`,
  );
});
