import assert from "node:assert/strict";
import { test } from "node:test";
import { describeSemanticsFlow, loadSemanticsCases, parseFlows, parseTitle } from "./case.ts";

test("parseFlows() reads flows, comments and directives", () => {
  const text = "# why\nexplain-only\nx/a -> y/b TCP/80 allow  # because\n\nx/a:4000  ->  z/d UDP/53 v6 deny\n";
  const { flows, directives } = parseFlows(text, "f");
  assert.deepEqual(flows, [
    { from: "x/a", to: "y/b", protocol: "TCP", port: 80, verdict: "allow", line: 3 },
    { from: "x/a", to: "z/d", protocol: "UDP", port: 53, sourcePort: 4000, ipVersion: 6, verdict: "deny", line: 5 },
  ]);
  assert.deepEqual([...directives], ["explain-only"]);
  assert.deepEqual(flows.map(describeSemanticsFlow), ["x/a -> y/b TCP/80", "x/a:4000 -> z/d UDP/53 v6"]);
});

for (const [what, text, message] of [
  ["a word that is no flow", "\nx/a - y/b TCP/80 allow\n", /^Error: f:2: Not a flow/],
  ["an unknown verdict", "x/a -> y/b TCP/80 maybe\n", /^Error: f:1: Not a flow/],
  ["an unknown directive", "explain-onyl\n", /^Error: f:1: Not a flow or directive: "explain-onyl"/],
  ["a port out of range", "x/a -> y/b TCP/65536 deny\n", /^Error: f:1: A port/],
  ["a pod's flow to itself", "x/a -> x/a TCP/80 deny\n", /^Error: f:1: A flow of x\/a to itself/],
  [
    "a flow that is there twice",
    "x/a -> y/b TCP/80 deny\nx/a -> y/b TCP/80 allow\n",
    /^Error: f:2: The flow of line 1/,
  ],
] as const)
  test(`parseFlows() names file and line at ${what}`, () => {
    assert.throws(() => parseFlows(text, "f"), message);
  });

test("parseTitle() wants a comment first", () => {
  assert.equal(parseTitle("# What is shown\nkind: Tier\n", "f"), "What is shown");
  assert.throws(() => parseTitle("kind: Tier\n", "f"), /^Error: f:1: /);
});

test("loadSemanticsCases() gives cases worth their name: six flows or more, of both verdicts", () => {
  const cases = loadSemanticsCases();
  assert.ok(cases.length >= 36, `${cases.length} cases`);
  for (const { name, flows } of cases) {
    assert.match(name, /^\d\d-[a-z0-9-]+$/);
    assert.ok(flows.length >= 6, `${name} has ${flows.length} flows`);
    for (const verdict of ["allow", "deny"])
      assert.ok(
        flows.some((flow) => flow.verdict === verdict),
        `${name} never expects ${verdict}`,
      );
  }
});
