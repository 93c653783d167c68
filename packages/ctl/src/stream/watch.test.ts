import assert from "node:assert/strict";
import { test } from "node:test";
import { policyManifest, runTypha } from "../testing/running-typha.ts";
import { runCli } from "../testing/run-cli.ts";

const MANIFEST = `
apiVersion: projectcalico.org/v3
kind: IPPool
metadata: {name: pool}
spec: {cidr: 10.1.0.0/16}
---
apiVersion: projectcalico.org/v3
kind: BGPFilter
metadata: {name: filter}
spec: {exportV4: [{action: Accept}]}
---
apiVersion: projectcalico.org/v3
kind: CalicoNodeStatus
metadata: {name: status}
spec: {node: node-1, classes: [Agent], updatePeriodSeconds: 10}
`;

/** A key that each stream has of these manifests, and one that it has not. */
const STREAMS: readonly (readonly [syncer: string, has: RegExp, hasNot: RegExp])[] = [
  ["felix", /GlobalNetworkPolicy\/\/first/, /bgpfilters/],
  ["bgp", /bgpfilters\/filter/, /GlobalNetworkPolicy/],
  ["tunnel-ip-allocation", /pool/, /bgpfilters/],
  ["node-status", /caliconodestatuses\/status/, /pool/],
];

test("watch --once prints each stream's state, and the status after it", async (t) => {
  const typha = await runTypha(t, { "a.json": policyManifest("first", 1), "b.yaml": MANIFEST });
  for (const [syncer, has, hasNot] of STREAMS) {
    const { code, out, err } = await runCli([
      "watch",
      "--syncer",
      syncer,
      "--addr",
      typha.addr,
      "--once",
      "--timeout",
      "600",
    ]);
    assert.equal(code, 0, err);
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(lines.at(-1), { type: "status", status: "in-sync" });
    const keys = lines.filter(({ type }) => type === "new").map(({ key }) => String(key));
    assert.match(keys.join("\n"), has);
    assert.doesNotMatch(keys.join("\n"), hasNot);
  }
});

test("watch says what is wrong with the connection, and gives up after the time-out of --once", async () => {
  const argv = ["watch", "--syncer", "felix", "--addr", "127.0.0.1:1", "--once", "--timeout", "4"];
  const { code, err } = await runCli(argv);
  assert.equal(code, 1);
  assert.match(err, /warning: Cannot connect, 127\.0\.0\.1:1: .*ECONNREFUSED/);
  assert.match(err, /error: Not in sync after 4 s: Cannot connect/);
});

const bad: readonly [argv: readonly string[], message: RegExp][] = [
  [["--addr", "a:1"], /--syncer TYPE is needed/],
  [["--syncer", "x", "--addr", "a:1"], /--syncer x is not one of felix, bgp/],
  [["--syncer", "felix", "--timeout", "0"], /--timeout 0 is not a number/],
];
for (const [argv, message] of bad) {
  test(`watch refuses ${argv.join(" ")}`, async () => {
    const { code, err } = await runCli(["watch", ...argv]);
    assert.equal(code, 2);
    assert.match(err, message);
  });
}
