/** The cases of ClusterNetworkPolicy by explanation; `npm run e2e -- cluster` tries them with packets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { convertResources } from "@bulrush/datastore";
import { withBuiltIn } from "../lab/built-in.ts";
import { Judge } from "../lab/judge.ts";
import { OracleWorld } from "../oracle/world.ts";
import { cellsOfCase, loadClusterPolicyCases } from "./case.ts";

const CASES = loadClusterPolicyCases();

test("there are 40 cases and more, each with a name of its own, and all of what they are to show", () => {
  assert.ok(CASES.length >= 40);
  assert.equal(new Set(CASES.map(({ name }) => name)).size, CASES.length);
  const text = JSON.stringify(CASES);
  const shown = ["Admin", "Baseline", "Accept", "Deny", "Pass", "networks", "destinationNamedPort", "range", "pods"];
  for (const word of [...shown, "namespaces", "matchExpressions", "egress", "ingress"])
    assert.ok(text.includes(`"${word}"`), word);
});

test("cellsOfCase() has every flow once, and refuses what matches nothing", () => {
  const cells = cellsOfCase({ name: "n", objects: [], denied: ["x/* -> y/a,z/b TCP/80"] });
  assert.equal(cells.length, 9 * 8 * 6);
  assert.equal(cells.filter(({ connects }) => !connects).length, 3 * 2);
  assert.throws(() => cellsOfCase({ name: "n", objects: [], denied: ["w/a -> x/b"] }), /matches nothing/);
  assert.throws(() => cellsOfCase({ name: "n", objects: [], denied: ["x/a to x/b"] }), /Not FROM/);
});

for (const one of CASES) {
  test(one.name, () => {
    const { updates, problems } = convertResources(withBuiltIn([...new OracleWorld().resources(), ...one.objects]));
    assert.deepEqual(problems, []);
    const judge = new Judge();
    judge.update(updates);
    for (const { from, to, protocol, port, connects } of cellsOfCase(one)) {
      const flow = { source: { workload: from }, destination: { workload: to }, protocol, port };
      const { verdict } = judge.explain({ ...flow, ipVersion: 4 });
      assert.equal(verdict, connects ? "allow" : "deny", `${from} -> ${to} ${protocol}/${port}`);
    }
  });
}
