import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli, TESTDATA } from "../testing/run-cli.ts";

const SHOP = `${TESTDATA}/shop`;

test("render prints both tables with the host's own pods, policies and sets", async () => {
  const { code, out, err } = await runCli(["render", "-f", SHOP, "--hostname", "node-2"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^table ip calico \{$/m);
  assert.match(out, /^table ip6 calico \{$/m);
  // The web pod, as the member of the only selector.
  assert.match(out, /elements = \{ 10\.0\.1\.1 \}/);
  assert.match(out, /db-only-from-web/);
  assert.match(out, /dport 5432/);
  assert.match(out, /169\.254\.169\.254/);
  const other = await runCli(["render", "-f", SHOP, "--hostname", "node-1"]);
  assert.doesNotMatch(other.out, /db-only-from-web/);
});

test("render takes agent settings", async () => {
  const argv = ["render", "-f", SHOP, "--hostname", "node-2"];
  assert.doesNotMatch((await runCli(argv)).out, /\breject\b/);
  assert.match((await runCli([...argv, "--set", "NftablesFilterDenyAction=REJECT"])).out, /\breject\b/);
  const bad = await runCli([...argv, "--set", "NftablesFilterDenyAction"]);
  assert.equal(bad.code, 2);
  assert.match(bad.err, /is not NAME=VALUE/);
});
