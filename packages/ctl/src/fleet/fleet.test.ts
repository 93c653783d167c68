import assert from "node:assert/strict";
import { test } from "node:test";
import { policyManifest, runTypha } from "../testing/running-typha.ts";
import { type CliResult, runCli } from "../testing/run-cli.ts";

/** Runs the command until its answer is good: clients come and report in their own time. */
async function untilGood(argv: readonly string[], isGood: (result: CliResult) => boolean): Promise<CliResult> {
  const endMs = Date.now() + 120_000;
  for (;;) {
    const result = await runCli(argv);
    if (isGood(result)) return result;
    assert.ok(Date.now() < endMs, `${result.code}: ${result.out}${result.err}`);
  }
}

test("clients and lag show who is connected and where each one stands", async (t) => {
  const typha = await runTypha(t, { "a.json": policyManifest("first", 1) });
  typha.join("node-b");
  typha.join("node-a", true);
  const { out } = await untilGood(["clients", "--admin", typha.admin, "-o", "json"], (result) => {
    const list = JSON.parse(result.out) as { hostname: string; behind: number | null; sentSequence: number }[];
    const [a, b] = list;
    return list.length === 2 && b?.behind === 0 && b.sentSequence > 0 && a?.sentSequence === b.sentSequence;
  });
  const [a, b] = JSON.parse(out) as Record<string, unknown>[];
  assert.deepEqual(
    [a?.["hostname"], a?.["typha"], a?.["appliedSequence"], a?.["behind"]],
    ["node-a", "typha-1", null, null],
  );
  assert.deepEqual([b?.["hostname"], b?.["info"], b?.["syncer"]], ["node-b", "agent/1", "felix"]);
  const table = await runCli(["clients", "--admin", typha.admin, "--syncer", "felix"]);
  const [title = "", first = "", second = ""] = table.out.split("\n");
  assert.match(title, /^NODE +SYNCER +TYPHA +PROGRAM +SINCE +BEGUN WITH +SENT +IN FORCE +LAG +SENT BYTES$/);
  assert.match(first, /^node-a +felix +typha-1 +agent\/1 +20\S+Z +snapshot +\d+ +- +0 ms +\d+$/);
  assert.match(second, /^node-b .* \d+ +\d+ +0 ms/);
  assert.equal((await runCli(["clients", "--admin", typha.admin, "--syncer", "bgp"])).out.split("\n").length, 2);

  const lag = await runCli(["lag", "--admin", typha.admin, "--syncer", "felix", "--over", "60000"]);
  assert.equal(lag.code, 0);
  assert.match(lag.out, /^TYPHA +SYNCER +P50 +P90 +P99 +LONGEST +OF\ntypha-1 +felix /);
  await untilGood(["lag", "--admin", typha.admin], (result) => result.out.includes("0 of 2 clients are behind"));
  const data = JSON.parse((await runCli(["lag", "--admin", typha.admin, "-o", "json"])).out) as Record<string, unknown>;
  assert.equal(data["clients"], 2);
});

test("wait returns when the agents have it in force, and not before", async (t) => {
  const typha = await runTypha(t);
  typha.join("node-a");
  const manifest = policyManifest("first", 1);
  const waiting = runCli(
    ["wait", "-f", "-", "--admin", typha.admin, "--nodes", "node-a", "--timeout", "600"],
    manifest,
  );
  typha.write("other.json", policyManifest("other", 2));
  await untilGood(["clients", "--admin", typha.admin, "-o", "json"], ({ out }) => out.includes("node-a"));
  const isDone = await Promise.race([
    waiting.then(() => true),
    runCli(["lag", "--admin", typha.admin]).then(() => false),
  ]);
  assert.equal(isDone, false, "the policy is not there yet");
  typha.write("a.json", manifest);
  const { code, out, err } = await waiting;
  assert.equal(code, 0, err);
  assert.match(out, /^\d+ keys are in force\n$/);
});

test("wait says what and who is missing when the time is over", async (t) => {
  const typha = await runTypha(t);
  const wait = (...more: readonly string[]): Promise<CliResult> =>
    runCli(["wait", "-f", "-", "--admin", typha.admin, "--timeout", "0", ...more], policyManifest("first", 1));
  const nothing = await wait("--nodes", "node-x,node-y");
  assert.equal(nothing.code, 1);
  assert.match(nothing.err, /does not have .*\/calico\/v1\/policy\/GlobalNetworkPolicy\/\/first/);
  assert.match(nothing.err, /no agent is connected of node-x, node-y/);
  typha.write("a.json", policyManifest("first", 1));
  typha.join("node-deaf", true);
  const argv = ["wait", "-f", typha.directory, "--admin", typha.admin, "--timeout", "0"];
  const deaf = await untilGood(argv, ({ err }) => err.includes("node-deaf"));
  assert.equal(deaf.code, 1);
  assert.match(deaf.err, /Not in force after 0 s: it is not in force on node-deaf\n$/);
});

test("wait counts resources that agents get as they are stored, by what the manifest says of them", async (t) => {
  const node = (labels: Readonly<Record<string, string>>, more: object = {}): string =>
    JSON.stringify({ apiVersion: "projectcalico.org/v3", kind: "Node", metadata: { name: "node-a", labels, ...more } });
  const typha = await runTypha(t, { "node.json": node({ rack: "1", zone: "b" }, { uid: "u-1" }) });
  typha.join("node-a");
  const argv = ["wait", "-f", "-", "--admin", typha.admin, "--timeout"];
  const other = await runCli([...argv, "0"], node({ rack: "2" }));
  assert.equal(other.code, 1);
  assert.match(other.err, /does not have .*\/calico\/resources\/v3\/projectcalico\.org\/nodes\/node-a/);
  const { code, err } = await runCli([...argv, "600"], node({ rack: "1" }, { uid: "u-2" }));
  assert.equal(code, 0, err);
});

const bad: readonly [argv: readonly string[], code: number, message: RegExp][] = [
  [["clients", "--admin", "localhost:9097"], 2, /--admin localhost:9097 is not an http\(s\) URL/],
  [["clients", "--admin", "https://x"], 2, /https:\/\/x needs --ca-file/],
  [
    ["clients", "--admin", "http://127.0.0.1:1"],
    1,
    /GET http:\/\/127\.0\.0\.1:1\/api\/v1\/(status|clients): .*ECONNREFUSED.*port-forward/,
  ],
  [["clients", "--syncer", "x"], 2, /--syncer x is not one of felix, bgp/],
  [["lag", "--over", "-1"], 2, /--over -1 is not a number/],
  [["wait", "--timeout", "x"], 2, /--timeout x is not a number of seconds/],
];
for (const [argv, code, message] of bad) {
  test(`${argv.join(" ")} fails and says why`, async () => {
    const result = await runCli(argv);
    assert.equal(result.code, code);
    assert.match(result.err, message);
  });
}
