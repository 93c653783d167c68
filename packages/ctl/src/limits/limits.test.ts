import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { connectionLimit, type LimitForecast } from "@bulrush/typha";
import { seededRandom } from "@bulrush/base";
import { runCli } from "../testing/run-cli.ts";

async function limits(...argv: readonly (string | number)[]): Promise<LimitForecast> {
  const { code, out, err } = await runCli(["limits", ...argv.map(String), "-o", "json"]);
  assert.equal(code, 0, err);
  return JSON.parse(out) as LimitForecast;
}

test("limits explains the limit of a cluster", async () => {
  const { code, out } = await runCli(["limits", "--nodes", "1000", "--typhas", "7"]);
  assert.equal(code, 0);
  assert.equal(
    out,
    [
      "limit   804 connections a Typha (fraction+20%)",
      "in all  4000 connections on 7 Typhas",
      "mean    571.4 a Typha",
      "slack   a Typha may have 1.41 times the mean",
      "",
    ].join("\n"),
  );
});

test("limits warns where a limit never balances, and where it drops streams in good health", async () => {
  const two = await runCli(["limits", "--nodes", "50", "--typhas", "2"]);
  assert.match(two.out, /^warning: One server may hold all 200 connections and is within the limit of 400$/m);
  const low = await limits("--nodes", 2000, "--typhas", 20, "--syncer-types", 3, "--connections", 8240);
  assert.deepEqual([low.limit, low.reason], [400, "configured lower limit"]);
  assert.deepEqual(
    low.warnings.map(({ code }) => code),
    ["drops-healthy"],
  );
});

test("limits gives what a server works out, for 10,000 inputs", async () => {
  const random = seededRandom(10);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  for (let i = 0; i < 10_000; i++) {
    const [typhas, nodes, syncerTypes] = [upTo(40), upTo(8000), 1 + upTo(4)];
    const [lower, upper] = [1 + upTo(1000), 1 + upTo(12_000)];
    const isObserved = random() < 0.3;
    const connections = upTo(40_000);
    const basis = isObserved
      ? ({ type: "observed", connections } as const)
      : ({ type: "formula", syncerTypes } as const);
    const argv: (string | number)[] = ["--nodes", nodes, "--typhas", typhas, "--lower", lower, "--upper", upper];
    argv.push(
      "--syncer-types",
      syncerTypes,
      ...(isObserved ? ["--basis", "observed", "--connections", connections] : []),
    );
    const { limit, reason } = await limits(...argv);
    assert.deepEqual({ limit, reason }, connectionLimit({ typhas, nodes, basis, lower, upper }), argv.join(" "));
  }
});

const bad: readonly [argv: readonly string[], message: RegExp][] = [
  [["--typhas", "3"], /--nodes N is needed/],
  [["--nodes", "3"], /--typhas T is needed/],
  [["--nodes", "3", "--typhas", "-1"], /--typhas -1 is not a whole number from 0/],
  [["--nodes", "1.5", "--typhas", "1"], /--nodes 1\.5 is not a whole number/],
  [["--nodes", "3", "--typhas", "1", "--lower", "0"], /--lower 0 is not a whole number from 1/],
  [["--nodes", "3", "--typhas", "1", "--basis", "guess"], /--basis guess is neither/],
  [["--nodes", "3", "--typhas", "1", "--basis", "observed"], /needs --connections/],
  [["3", "--nodes", "3", "--typhas", "1"], /takes no arguments: 3/],
];
for (const [argv, message] of bad) {
  test(`limits refuses ${argv.join(" ")}`, async () => {
    const { code, err } = await runCli(["limits", ...argv]);
    assert.equal(code, 2);
    assert.match(err, message);
  });
}

/** An admin API that says this of its balance. */
async function serveStatus(t: TestContext, balance: object | null): Promise<string> {
  const server = createServer((_, response) => {
    response.end(JSON.stringify({ connections: { streaming: 600 }, balance }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const SETTINGS = { lower: 400, upper: 10_000, syncerTypes: 4, basis: "formula", levelling: true };

test("limits takes what is not said from a Typha that runs", async (t) => {
  const peers = [{ address: "a:1", streams: 400, limit: 804, takesClients: true }];
  const url = await serveStatus(t, { typhas: 7, nodes: 1000, problem: null, settings: SETTINGS, peers });
  const asIs = await limits("--admin", url);
  assert.deepEqual([asIs.limit, asIs.reason, asIs.connections], [804, "fraction+20%", 1000]);
  const whatIf = await limits("--admin", url, "--typhas", 3, "--lower", 5000);
  // 4 * (1 + floor(1.2 * 1000 / 2)) is 2,404.
  assert.deepEqual([whatIf.limit, whatIf.reason], [5000, "configured lower limit"]);
});

test("limits says why a Typha that runs has no numbers", async (t) => {
  const none = await runCli(["limits", "--admin", await serveStatus(t, null)]);
  assert.equal(none.code, 1);
  assert.match(none.err, /works no limit out: its TYPHA_CONNECTIONREBALANCINGMODE is not kubernetes/);
  const blind = { typhas: null, nodes: 3, problem: "403: endpointslices is forbidden", settings: SETTINGS, peers: [] };
  const forbidden = await runCli(["limits", "--admin", await serveStatus(t, blind)]);
  assert.match(forbidden.err, /cannot count: 403: endpointslices is forbidden/);
});
