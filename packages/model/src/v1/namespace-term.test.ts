import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSelector } from "@bulrush/selector";
import { namespaceTerm } from "./namespace-term.ts";

test("namespaceTerm() is one term, whatever the name holds", () => {
  const rows: readonly [namespace: string, want: string][] = [
    ["shop", "projectcalico.org/namespace == 'shop'"],
    ["a' || all() || b == '", `projectcalico.org/namespace == "a' || all() || b == '"`],
    [`'"`, "has(projectcalico.org/namespace)"],
  ];
  for (const [namespace, want] of rows) {
    assert.equal(namespaceTerm(namespace), want);
    assert.ok(parseSelector(want).evaluate(new Map([["projectcalico.org/namespace", namespace]])));
    assert.ok(!parseSelector(want).evaluate(new Map([["x", namespace]])));
  }
});
