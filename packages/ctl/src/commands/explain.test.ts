import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, spawnCli, TESTDATA } from "../testing/run-cli.ts";

const SHOP = `${TESTDATA}/shop`;

interface Side {
  readonly verdict: string;
  readonly tier: string;
  readonly policy: string;
  readonly rule: number | null;
  readonly why: string;
  readonly steps?: readonly unknown[];
}

interface Answer {
  readonly verdict?: string;
  readonly egress?: Side;
  readonly ingress?: Side;
  readonly error?: string;
}

const flow = (from: string, to: string, port: number, protocol = "TCP"): string[] => [
  `--from=${from}`,
  `--to=${to}`,
  `--protocol=${protocol}`,
  `--port=${port}`,
];

test("explain -o json names verdict, tier, policy and rule of both sides, with steps", async () => {
  const { code, out, err } = await runCli(["explain", "-f", SHOP, ...flow("shop/web", "shop/db", 5432), "-o", "json"]);
  assert.deepEqual([code, err], [0, ""]);
  const { verdict, egress, ingress } = JSON.parse(out) as Answer;
  assert.equal(verdict, "allow");
  assert.deepEqual(
    [egress?.verdict, egress?.tier, egress?.policy, egress?.rule],
    ["allow", "default", "GlobalNetworkPolicy/no-metadata", 1],
  );
  assert.deepEqual(
    [ingress?.verdict, ingress?.tier, ingress?.policy, ingress?.rule],
    ["allow", "default", "KubernetesNetworkPolicy/shop/db-only-from-web", 0],
  );
  assert.ok((egress?.steps?.length ?? 0) > 0 && egress?.why !== "");
});

const verdicts: readonly [from: string, to: string, protocol: string, port: number, verdict: string, sides: string][] =
  [
    ["shop/web", "shop/db", "tcp", 5432, "allow", "egress ingress"],
    ["shop/web", "shop/db", "TCP", 5433, "deny", "egress ingress"],
    ["shop/web", "shop/db", "UDP", 5432, "deny", "egress ingress"],
    ["other/guest", "shop/db", "TCP", 5432, "deny", "egress ingress"],
    ["other/guest", "shop/web", "Sctp", 80, "allow", "egress ingress"],
    ["shop/web", "169.254.169.254", "TCP", 80, "deny", "egress"],
    ["shop/web", "1.1.1.1", "TCP", 443, "allow", "egress"],
    ["203.0.113.7", "shop/db", "6", 5432, "deny", "ingress"],
    ["10.0.1.1", "10.0.2.1", "TCP", 5432, "allow", "egress ingress"],
  ];
for (const [from, to, protocol, port, verdict, sides] of verdicts) {
  test(`explain says ${verdict} of ${from} to ${to} ${protocol} ${port}`, async () => {
    const { out } = await runCli(["explain", "-f", SHOP, ...flow(from, to, port, protocol), "-o", "json"]);
    const answer = JSON.parse(out) as Answer;
    assert.deepEqual(
      [
        answer.verdict,
        Object.keys(answer)
          .filter((name) => name.endsWith("gress"))
          .join(" "),
      ],
      [verdict, sides],
    );
  });
}

test("explain says that something cannot be read, and answers", async () => {
  const dir = mkdtempSync(join(tmpdir(), "bulrush-ctl-"));
  try {
    const file = join(dir, "unknown.yaml");
    writeFileSync(
      file,
      "apiVersion: projectcalico.org/v3\nkind: NetworkPolice\nmetadata: { name: p, namespace: shop }\n",
    );
    const world = ["explain", "-f", SHOP, "-f", file];
    const one = await runCli([...world, ...flow("shop/web", "shop/db", 5432)]);
    const many = await runCli(
      [...world, "--flows", "-"],
      '{"from":"shop/web","to":"shop/db","protocol":"tcp","port":5432}\n',
    );
    for (const { code, out, err } of [one, many]) {
      assert.equal(code, 0);
      assert.match(err, /^warning: 1 resource cannot be read: verdicts may be other than with all$/m);
      assert.match(out, /allow/);
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("explain for people says who decided, and with --steps how", async () => {
  const argv = ["explain", "-f", SHOP, ...flow("other/guest", "shop/db", 5432)];
  const { code, out } = await runCli(argv);
  assert.equal(code, 0);
  assert.match(out, /^deny {2}other\/guest -> shop\/db {2}TCP 5432\n/);
  assert.match(out, /^egress: allow by GlobalNetworkPolicy\/no-metadata, rule 1 \(tier default\)$/m);
  assert.match(out, /^ingress: deny by the end of tier default$/m);
  const { out: steps } = await runCli([...argv, "--steps"]);
  assert.match(steps, /^ {4}KubernetesNetworkPolicy\/shop\/db-only-from-web, rule 0: not-matched: /m);
});

test("explain names the pod that it does not know, and why a known one is none", async () => {
  const rows: readonly [from: string, err: RegExp][] = [
    ["shop/wbe", /^error: Unknown pod "shop\/wbe"; did you mean "shop\/web"\?$/m],
    ["nowhere/x", /^error: Unknown pod "nowhere\/x"$/m],
    ["other/agent", /^error: Pod "other\/agent" is on the host's network/m],
    ["shop/job", /^error: Pod "shop\/job" has finished \(Succeeded\)$/m],
    ["web", /^error: "web" \(from\) is neither namespace\/pod nor an address$/m],
  ];
  for (const [from, err] of rows) {
    const result = await runCli(["explain", "-f", SHOP, ...flow(from, "shop/db", 5432)]);
    assert.deepEqual([result.code, result.out], [1, ""], from);
    assert.match(result.err, err);
  }
});

test("explain --flows answers line by line in order, an error in its place", async () => {
  const flows = [
    { from: "shop/web", to: "shop/db", protocol: "TCP", port: 5432 },
    { from: "shop/nobody", to: "shop/db", protocol: "TCP", port: 5432 },
    "not json",
    { from: "other/guest", to: "shop/db", protocol: "tcp", port: "5432" },
  ];
  const input = flows.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n\n");
  const { code, out } = await runCli(["explain", "-f", SHOP, "--flows", "-", "-o", "ndjson"], input);
  assert.equal(code, 0);
  const answers = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Answer);
  assert.deepEqual(
    answers.map(({ verdict, error }) => verdict ?? error?.slice(0, 16)),
    ["allow", 'Unknown pod "sho', "Line 5: not JSON", "deny"],
  );
  assert.equal(answers[0]?.egress?.steps, undefined);
  assert.equal(answers[0]?.ingress?.policy, "KubernetesNetworkPolicy/shop/db-only-from-web");
});

test("explain --flows streams a large file through the real program", async () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-ctl-"));
  try {
    const path = join(directory, "flows.ndjson");
    const count = 20_000;
    writeFileSync(
      path,
      Array.from({ length: count }, (_, index) =>
        JSON.stringify({ from: "shop/web", to: "shop/db", protocol: "TCP", port: 5432 + (index % 2) }),
      ).join("\n"),
    );
    const { code, out } = await spawnCli(["explain", "-f", SHOP, "--flows", path, "-o", "ndjson"]);
    assert.equal(code, 0);
    const verdicts = out
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as Answer).verdict);
    assert.equal(verdicts.length, count);
    assert.ok(verdicts.every((verdict, index) => verdict === (index % 2 === 0 ? "allow" : "deny")));
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("explain refuses a command line that asks for two things", async () => {
  const rows: readonly [argv: string[], err: RegExp][] = [
    [["--flows", "x", "--port", "80"], /--port does not go with --flows/],
    [["--flows", "x", "-o", "text"], /--flows prints json, ndjson or yaml/],
    [["--to", "shop/db", "--port", "1"], /--from POD\|IP is needed/],
  ];
  for (const [argv, err] of rows) {
    const result = await runCli(["explain", "-f", SHOP, ...argv]);
    assert.equal(result.code, 2);
    assert.match(result.err, err);
  }
});
