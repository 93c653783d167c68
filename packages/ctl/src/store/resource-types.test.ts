import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS } from "@bulrush/model";
import { parseTypes, typeName } from "./resource-types.ts";

const V3 = "projectcalico.org/v3";

const rows: readonly [text: string, kinds: string[]][] = [
  ["networkpolicies", [`${V3} NetworkPolicy`]],
  ["NetworkPolicy", [`${V3} NetworkPolicy`]],
  ["np", [`${V3} NetworkPolicy`]],
  ["networkpolicies.networking.k8s.io", ["networking.k8s.io/v1 NetworkPolicy"]],
  ["networkpolicy.projectcalico.org", [`${V3} NetworkPolicy`]],
  ["knp", ["networking.k8s.io/v1 NetworkPolicy"]],
  ["nodes", [`${V3} Node`]],
  ["nodes.v1", ["v1 Node"]],
  ["pods", ["v1 Pod"]],
  ["tiers,gnp,tier", [`${V3} Tier`, `${V3} GlobalNetworkPolicy`]],
];
for (const [text, kinds] of rows) {
  test(`parseTypes() reads ${text}`, () => {
    assert.deepEqual(
      parseTypes(text).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`),
      kinds,
    );
  });
}

test("parseTypes() takes all for every kind, and each of them by its own name", () => {
  assert.equal(parseTypes("all"), KINDS);
  for (const facts of KINDS) assert.deepEqual(parseTypes(typeName(facts)), [facts], typeName(facts));
});

const bad: readonly [text: string, message: RegExp][] = [
  ["networkpolicy.apps", /in no group "apps"; there is networkpolicies and networkpolicies\.networking\.k8s\.io/],
  ["netpolicies", /Unknown kind "netpolicies"/],
  ["teirs", /did you mean tiers\?/],
  ["", /Unknown kind ""/],
];
for (const [text, message] of bad) {
  test(`parseTypes() refuses "${text}"`, () => {
    assert.throws(() => parseTypes(text), { code: "CTL_USAGE", message });
  });
}
