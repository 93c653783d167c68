import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { skipWithoutKube } from "../kube/binaries.ts";
import { parseDemoArguments } from "./arguments.ts";

const MAIN: string = join(import.meta.dirname, "main.ts");
const SAMPLE: string = join(import.meta.dirname, "..", "..", "demo");

interface DemoFlow {
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  readonly port: number;
  readonly verdict: string;
  readonly explained: string;
}

function lastFlows(stdout: string): readonly DemoFlow[] {
  return (JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as { flows: readonly DemoFlow[] }).flows;
}

function demo(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return demoWith({}, ...args);
}

function demoWith(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ["--conditions=bulrush-source", MAIN, ...args], {
    encoding: "utf8",
    timeout: 120_000,
    env: { ...process.env, ...env },
  });
}

test("parseDemoArguments() reads options and names what it does not know", () => {
  assert.deepEqual(parseDemoArguments(["--once", "-o", "json", "-f", SAMPLE]), {
    once: true,
    json: true,
    path: SAMPLE,
    isSample: false,
    datastore: "file",
  });
  assert.deepEqual(parseDemoArguments(["--datastore", "tape"]), { wrong: "Unknown datastore 'tape'" });
  assert.equal(parseDemoArguments(["--help"]), "help");
  assert.deepEqual(parseDemoArguments(["-o", "xml"]), { wrong: "Unknown output 'xml'" });
  assert.deepEqual(parseDemoArguments(["-f", "/no/such"]), { wrong: "There is nothing at '/no/such'" });
});

/** Everything is as explained, both kinds of answer occur, and it is what the sample's comments promise. */
function checkSample(flows: readonly DemoFlow[]): void {
  assert.ok(flows.length >= 30);
  for (const flow of flows) assert.equal(flow.verdict, flow.explained, JSON.stringify(flow));
  for (const verdict of ["allow", "deny"]) assert.ok(flows.some((flow) => flow.verdict === verdict));
  const verdictOf = (from: string, to: string, port: number): string | undefined =>
    flows.find((flow) => flow.from === from && flow.to === to && flow.port === port)?.verdict;
  assert.equal(verdictOf("shop/web", "shop/api", 9000), "allow");
  assert.equal(verdictOf("shop/web", "shop/db", 5432), "deny");
  assert.equal(verdictOf("shop/api", "shop/db", 5432), "allow");
  assert.equal(verdictOf("infra/prometheus", "shop/api", 9102), "allow");
  assert.equal(verdictOf("lab/intern", "shop/web", 8080), "allow");
  assert.equal(verdictOf("lab/intern", "infra/prometheus", 9090), "deny");
}

test("demo --once: what connects is what is explained, and both kinds of answer occur", () => {
  const { status, stdout, stderr } = demo("--once", "-o", "json");
  assert.equal(status, 0, stderr);
  checkSample(lastFlows(stdout));
});

for (const datastore of ["kubernetes", "etcdv3"]) {
  test(`demo --once --datastore ${datastore}: the sample connects as it does from files`, {
    skip: skipWithoutKube(),
  }, () => {
    const { status, stdout, stderr } = demo("--once", "-o", "json", "--datastore", datastore);
    assert.equal(status, 0, stderr);
    checkSample(lastFlows(stdout));
  });

  test(`demo --datastore ${datastore} says in one line how to get the binaries where they are missing`, () => {
    const cache = mkdtempSync(join(tmpdir(), "bulrush-demo-"));
    const { status, stderr } = demoWith({ XDG_CACHE_HOME: cache }, "--once", "--datastore", datastore);
    rmSync(cache, { recursive: true });
    assert.equal(status, 2);
    assert.equal(stderr, "kube-apiserver and etcd are not built; run `npm run setup:kube` once\n");
  });
}

test("demo takes a single file and says what it leaves aside and what it cannot read", () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-demo-"));
  const file = join(directory, "mine.yaml");
  const pod = (name: string, spec: string, status: string): string =>
    `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name} }\nspec: { ${spec} }\nstatus: { ${status} }\n---\n`;
  const container = "containers: [{ name: c, ports: [{ containerPort: 80 }] }]";
  writeFileSync(
    file,
    [
      pod("one", `nodeName: n1, ${container}`, "podIP: 10.65.9.1"),
      pod("two", `nodeName: n2, ${container}`, "podIP: 10.65.9.2"),
      pod("waiting", container, ""),
      pod("done", `nodeName: n1, ${container}`, "podIP: 10.65.9.3, phase: Succeeded"),
      pod("twin", `nodeName: n1, ${container}`, "podIP: 10.65.9.1"),
      "kind: Nonsense\napiVersion: v1\nmetadata: { name: x }\n",
    ].join(""),
  );
  const { status, stdout, stderr } = demo("--once", "-o", "json", "-f", file);
  rmSync(directory, { recursive: true });
  assert.equal(status, 0, stderr);
  const names = lastFlows(stdout).map(({ from, to, verdict }) => `${from} ${to} ${verdict}`);
  assert.deepEqual(names, ["default/one default/two allow", "default/two default/one allow"]);
  assert.match(stderr, /default\/waiting is left aside: it is not scheduled/);
  assert.match(stderr, /default\/done is left aside/);
  assert.match(stderr, /default\/twin is left aside: its address 10\.65\.9\.1 is that of default\/one/);
  assert.match(stderr, /Nonsense/);
});

test("demo shows an edit with the time that it took, and ends with 0 when told to", async () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-demo-"));
  cpSync(SAMPLE, directory, { recursive: true });
  const child = spawn(process.execPath, ["--conditions=bulrush-source", MAIN, "-o", "json", "-f", directory]);
  let stderr = "";
  let stdout = "";
  const seen = (pattern: RegExp, from: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`No ${pattern} in:\n${stderr}`)), 90_000);
      const look = (): void => {
        if (!pattern.test(stderr.slice(from))) return;
        clearTimeout(timer);
        child.stderr.off("data", look);
        resolve();
      };
      child.stderr.on("data", look);
      look();
    });
  child.stderr.on("data", (chunk) => (stderr += String(chunk)));
  child.stdout.on("data", (chunk) => (stdout += String(chunk)));
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
  after(() => {
    child.kill("SIGKILL");
    rmSync(directory, { recursive: true });
  });
  await seen(/Edit a file/, 0);
  const url = /The console of this Typha: (\S+)/.exec(stderr)?.[1] ?? "";
  assert.match(await (await fetch(url)).text(), /<script type="module" src="console\.js">/);
  const status = (await (await fetch(`${url}api/v1/status`)).json()) as { connections: { streaming: number } };
  assert.ok(status.connections.streaming >= 2, "the agents of both hosts");
  const mark = stderr.length;
  const file = join(directory, "30-shop-policy.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("role == 'backend'", "role == 'nobody'"));
  await seen(
    /ms from your save to every kernel[\s\S]*shop\/api -> shop\/db .* no longer connects[\s\S]*Edit a file/,
    mark,
  );
  const flows = lastFlows(stdout);
  assert.ok(flows.every((flow) => flow.verdict === flow.explained));
  child.kill("SIGTERM");
  assert.equal(await exited, 0);
});
