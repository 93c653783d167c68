import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";

const POLICY = `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {}
  ingress:
  - ports: [{port: 22}]
  - from: [{ipBlock: {cidr: 10.0.0.0/8}}, {ipBlock: {cidr: 192.0.2.0/24}}]
    ports: [{port: 5432}, {port: 5432, protocol: UDP}]
---
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata: {name: guard}
spec:
  egress: [{action: Pass}]
`;

test("rules says for each number where it was written", async () => {
  const { code, out, err } = await runCli(["rules", "-f", "-"], POLICY);
  assert.deepEqual([code, err], [0, ""]);
  const rows = out
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  assert.deepEqual(rows[0], ["POLICY", "DIRECTION", "RULE", "ACTION", "PROTOCOL", "WRITTEN"]);
  const db = "KubernetesNetworkPolicy/shop/db";
  assert.deepEqual(
    rows.slice(1).sort((a, b) => `${a[0]} ${a[2]}`.localeCompare(`${b[0]} ${b[2]}`)),
    [
      ["GlobalNetworkPolicy/guard", "egress", "0", "pass", "any", "-:12, spec.egress[0]"],
      [db, "ingress", "0", "allow", "tcp", "-:2, spec.ingress[0]"],
      [db, "ingress", "1", "allow", "tcp", "-:2, spec.ingress[1].from[0]"],
      [db, "ingress", "2", "allow", "tcp", "-:2, spec.ingress[1].from[1]"],
      [db, "ingress", "3", "allow", "udp", "-:2, spec.ingress[1].from[0]"],
      [db, "ingress", "4", "allow", "udp", "-:2, spec.ingress[1].from[1]"],
    ],
  );
});

test("rules takes a policy by the last parts of its name, and says where there is none", async () => {
  for (const name of ["shop/db", "KubernetesNetworkPolicy/shop/db", "db"]) {
    const { code, out } = await runCli(["rules", "-f", "-", "-o", "ndjson", name], POLICY);
    assert.equal(code, 0);
    assert.equal(out.trimEnd().split("\n").length, 5, name);
    assert.deepEqual(JSON.parse(out.split("\n")[1] ?? ""), {
      policy: "KubernetesNetworkPolicy/shop/db",
      direction: "ingress",
      rule: 1,
      action: "allow",
      protocol: "tcp",
      file: "-",
      line: 2,
      field: "spec.ingress[1].from[0]",
    });
  }
  const none = await runCli(["rules", "-f", "-", "other/db"], POLICY);
  assert.deepEqual([none.code, none.out], [1, ""]);
  assert.match(none.err, /There is no policy "other\/db"/);
  assert.equal((await runCli(["rules"])).code, 2);
});
