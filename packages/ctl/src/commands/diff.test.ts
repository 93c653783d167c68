import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Comparison } from "../diff/compare.ts";
import { runCli, spawnCli, TESTDATA } from "../testing/run-cli.ts";

const SHOP = join(TESTDATA, "shop");
const POLICY = join(SHOP, "policy.yaml");
const V3 = "projectcalico.org/v3";
const root = mkdtempSync(join(tmpdir(), "bulrush-ctl-"));
after(() => rmSync(root, { recursive: true }));

/** A file of manifests. */
function manifest(name: string, ...items: readonly object[]): string {
  const path = join(root, `${name}.json`);
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  return path;
}

/** What stands before the database of the shop, with another rule. */
function dbPolicy(...ports: readonly number[]): object {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "db-only-from-web", namespace: "shop" },
    spec: {
      podSelector: { matchLabels: { app: "db" } },
      ingress: [
        { from: [{ podSelector: { matchLabels: { app: "web" } } }], ports: ports.map((port) => ({ port })) },
        { from: [{ ipBlock: { cidr: "203.0.113.0/24", except: ["203.0.113.64/26"] } }], ports: [{ port: 22 }] },
      ],
    },
  };
}

test("diff says which flows change, and through which rule; exit code 1", async () => {
  const path = manifest("opened", dbPolicy(5432, 9187, 9188));
  const { code, out, err } = await spawnCli(["diff", "--against", SHOP, "-f", path]);
  assert.deepEqual([code, err], [1, ""]);
  const rule = (number: number): string =>
    `KubernetesNetworkPolicy/shop/db-only-from-web, rule ${number} (tier default)`;
  assert.equal(
    out.replace(/ \(\d+ flows stand.*\n/, "\n"),
    `+ deny -> allow  shop/web -> shop/db  TCP 9187-9188
    ingress: was deny by the end of tier default; then allow by ${rule(0)}

+ deny -> allow  203.0.113.0 (in 203.0.113.0/24) -> shop/db  TCP 22
    ingress: was deny by the end of tier default; then allow by ${rule(1)}

2 opened, 0 closed
`,
  );
});

test("diff --delete and --whole say what goes", async () => {
  const removed = await runCli(["diff", "--against", SHOP, "--delete", POLICY]);
  assert.equal(removed.code, 1);
  assert.match(removed.out, /^\+ deny -> allow {2}other\/guest -> shop\/db {2}all traffic$/m);
  assert.match(
    removed.out,
    /^\+ deny -> allow {2}elsewhere \([0-9.]+\), 169\.254\.169\.254 -> shop\/db {2}all traffic$/m,
  );
  assert.match(removed.out, /was deny by the end of tier default; then allow by profile\/kns\.shop, rule 0$/m);
  const whole = await runCli(["diff", "--against", SHOP, "--whole", "-f", join(SHOP, "cluster.yaml")]);
  assert.deepEqual([whole.code, whole.out], [1, removed.out], "a state without the policies is the same");
  const back = await runCli(["diff", "--against", join(SHOP, "cluster.yaml"), "-f", POLICY]);
  assert.equal(back.code, 1);
  assert.match(back.out, /^- allow -> deny {2}other\/guest -> shop\/db {2}all traffic$/m);
});

test("diff says nothing of what changes no flow; exit code 0", async () => {
  for (const argv of [
    ["-f", SHOP],
    ["-f", manifest("staged", { ...dbPolicy(1), apiVersion: V3, kind: "StagedKubernetesNetworkPolicy" })],
    ["-f", manifest("tier", { apiVersion: V3, kind: "Tier", metadata: { name: "t" }, spec: { order: 1 } })],
  ]) {
    const { code, out } = await runCli(["diff", "--against", SHOP, ...argv]);
    assert.equal(code, 0, out);
    assert.match(out, /^no flow changes \(/);
  }
});

test("diff -o json has the classes that were looked at", async () => {
  const path = manifest("json", dbPolicy(5432, 9187));
  const { code, out } = await runCli(["diff", "--against", SHOP, "-f", path, "-o", "json"]);
  assert.equal(code, 1);
  const comparison = JSON.parse(out) as Comparison;
  assert.deepEqual(
    comparison.changes.map(({ from, to, before, after: then, traffic }) => [from, to, before, then, traffic]),
    [
      [
        "shop/web",
        "shop/db",
        "deny",
        "allow",
        [{ protocol: "tcp", ports: [{ first: 9187, last: 9187 }], ipVersions: [4] }],
      ],
      [
        "203.0.113.0 (in 203.0.113.0/24)",
        "shop/db",
        "deny",
        "allow",
        [{ protocol: "tcp", ports: [{ first: 22, last: 22 }], ipVersions: [4] }],
      ],
    ],
  );
  assert.ok(comparison.looked > 0 && comparison.bounded.length === 0);
});

test("diff puts pods that nothing tells apart into one kind, and compares them with one another", async () => {
  const pod = (name: string, ip: string, app: string): object => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "n", labels: { app } },
    spec: { nodeName: "one", containers: [] },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
  });
  const pods = manifest(
    "pods",
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } },
    ...[1, 2, 3, 4].map((i) => pod(`w${i}`, `10.0.0.${i}`, "w")),
    pod("db", "10.0.0.9", "db"),
  );
  const closed = manifest("closed", {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "closed", namespace: "n" },
    spec: { podSelector: { matchLabels: { app: "w" } }, policyTypes: ["Ingress"] },
  });
  const { out } = await runCli(["diff", "--against", pods, "-f", closed]);
  assert.match(out, /^- allow -> deny {2}n\/db, elsewhere \([0-9.]+\) -> n\/w1 \(and 3 like it\) {2}all traffic$/m);
  assert.match(out, /^- allow -> deny {2}n\/w1 \(and 3 like it\) -> n\/w2 \(and 3 like it\) {2}all traffic$/m);
  const fresh = await runCli(["diff", "--against", pods, "-f", manifest("more", pod("new", "10.0.0.5", "w"))]);
  assert.match(fresh.out, /not compared, for they are new: one\/k8s\/n\/new\/eth0/);
});

test("diff sees host endpoints, and what passes through them", async () => {
  const host = {
    apiVersion: V3,
    kind: "HostEndpoint",
    metadata: { name: "all", labels: { role: "node" } },
    spec: { node: "node-1", interfaceName: "*" },
  };
  const policy = {
    apiVersion: V3,
    kind: "GlobalNetworkPolicy",
    metadata: { name: "no-ssh" },
    spec: {
      selector: "role == 'node'",
      applyOnForward: true,
      types: ["Ingress"],
      ingress: [{ action: "Deny", protocol: "TCP", destination: { ports: [23] } }, { action: "Allow" }],
    },
  };
  const before = manifest("host", host, { ...policy, spec: { ...policy.spec, ingress: [{ action: "Allow" }] } });
  const { code, out } = await runCli([
    "diff",
    "--against",
    before,
    "--against",
    SHOP,
    "-f",
    manifest("no-ssh", policy),
  ]);
  assert.equal(code, 1);
  assert.match(out, /-> hostendpoint:node-1\/all {2}TCP 23$/m);
  assert.match(
    out,
    /ingress \(normal\) at host endpoint node-1\/all: was allow by .*rule 0 .*; then deny by GlobalNetworkPolicy\/no-ssh, rule 0/,
  );
});

test("diff says where it was bounded, and does not call that no change", async () => {
  const argv = ["diff", "--against", SHOP, "-f", manifest("bounded", dbPolicy(5432, 9187))];
  const all = /\((\d+) flows stand for all/.exec((await runCli(argv)).out)?.[1];
  const { code, out } = await runCli([...argv, "--max-flows", "1"]);
  assert.equal(code, 2);
  assert.match(out, new RegExp(`^bounded: 1 of ${all} flows were looked at: raise --max-flows$`, "m"));
  const just = await runCli([...argv, "--max-flows", String(all)]);
  assert.deepEqual([just.code, just.out.includes("bounded")], [1, false]);
});

test("diff does not call it no change where a manifest cannot be read", async () => {
  const broken = join(root, "broken.yaml");
  writeFileSync(broken, 'kind: "open\n');
  const police = { apiVersion: V3, kind: "NetworkPolice", metadata: { name: "p", namespace: "shop" }, spec: {} };
  const unknown = manifest("unknown", police);
  const rows: readonly (readonly [argv: readonly string[], unread: string])[] = [
    [["--against", SHOP, "-f", unknown], "1 resource"],
    [["--against", SHOP, "-f", broken], "1 resource"],
    [["--against", SHOP, "--delete", broken], "1 resource"],
    [["--against", SHOP, "--against", broken, "-f", SHOP], "1 resource"],
    [["--against", SHOP, "--whole", "-f", SHOP, "-f", broken, "-f", unknown], "2 resources"],
  ];
  for (const [argv, unread] of rows) {
    const { code, out } = await runCli(["diff", ...argv]);
    assert.equal(code, 2, argv.join(" "));
    assert.match(out, /^no flow changes/);
    assert.match(out, new RegExp(`^bounded: ${unread} cannot be read: `, "m"));
  }
  const changed = await runCli(["diff", "--against", SHOP, "-f", broken, "--delete", POLICY, "-o", "json"]);
  assert.equal(changed.code, 1, "flows change all the same");
  assert.match((JSON.parse(changed.out) as Comparison).bounded.join(), /^1 resource cannot be read/);
});

test("diff --live takes the datastore of the environment for how things stand", async () => {
  const env = { DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: SHOP };
  const { code, out } = await runCli(["diff", "--live", "--delete", POLICY], "", env);
  assert.equal(code, 1);
  assert.match(out, /^\+ deny -> allow {2}other\/guest -> shop\/db {2}all traffic$/m);
  assert.equal((await runCli(["diff", "--live", "-f", SHOP], "", env)).code, 0);
});

test("diff refuses a command line that says too little or too much, and input that is not there", async () => {
  const rows: readonly (readonly [argv: readonly string[], err: RegExp])[] = [
    [["-f", SHOP], /Say how things stand/],
    [["--live", "--against", SHOP, "-f", SHOP], /Say how things stand/],
    [["--against", SHOP], /Nothing would change/],
    [["--against", SHOP, "--whole", "-f", SHOP, "--delete", POLICY], /--whole already deletes/],
    [["--against", SHOP, "-f", SHOP, "--max-flows", "many"], /Bad --max-flows "many"/],
    [["--against", join(root, "none"), "-f", SHOP], /none/],
  ];
  for (const [argv, err] of rows) {
    const result = await runCli(["diff", ...argv]);
    assert.equal(result.code, 2, argv.join(" "));
    assert.match(result.err, err);
  }
});

const STAGED_DB = {
  ...dbPolicy(9187),
  apiVersion: V3,
  kind: "StagedKubernetesNetworkPolicy",
};

test("diff --enforce-staged says what staged policies would change, in manifests and in a datastore", async () => {
  const path = manifest("staged-db", STAGED_DB);
  const applied = await runCli(["diff", "--against", SHOP, "-f", path, "--enforce-staged"]);
  assert.equal(applied.code, 1, applied.err);
  assert.match(applied.out, /^\+ deny -> allow {2}shop\/web -> shop\/db {2}TCP 9187$/m);
  assert.match(applied.out, /^- allow -> deny {2}shop\/web -> shop\/db {2}TCP 5432$/m);
  const there = await runCli(["diff", "--against", SHOP, "--against", path, "--enforce-staged"]);
  assert.deepEqual([there.code, there.out], [1, applied.out], "staged before as well as now");
  const directory = mkdtempSync(join(root, "live-"));
  for (const name of ["cluster.yaml", "policy.yaml"]) copyFileSync(join(SHOP, name), join(directory, name));
  writeFileSync(join(directory, "staged.json"), JSON.stringify(STAGED_DB));
  const env = { DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: directory };
  const live = await runCli(["diff", "--live", "--enforce-staged"], "", env);
  assert.deepEqual([live.code, live.out], [1, applied.out], live.err);
});

test("diff --enforce-staged takes away what a staged policy with stagedAction Delete stands for", async () => {
  const metadata = { name: "db-only-from-web", namespace: "shop" };
  const gone = { apiVersion: V3, kind: "StagedKubernetesNetworkPolicy", metadata, spec: { stagedAction: "Delete" } };
  const { code, out } = await runCli(["diff", "--against", SHOP, "-f", manifest("gone", gone), "--enforce-staged"]);
  const deletion = manifest("deletion", { ...dbPolicy(1) });
  assert.deepEqual([code, out], [1, (await runCli(["diff", "--against", SHOP, "--delete", deletion])).out]);
});

test("diff --enforce-staged counts the later of two staged policies of one name, and changes nothing without any", async () => {
  const same = { ...STAGED_DB, spec: (dbPolicy(5432) as { spec: object }).spec };
  const [old, mended] = [manifest("old", STAGED_DB), manifest("mended", same)];
  const argv = ["diff", "--against", SHOP, "--against", old, "-f", mended, "--enforce-staged"];
  assert.doesNotMatch((await runCli(argv)).out, /TCP 9187|TCP 5432/);
  const none = await runCli(["diff", "--against", SHOP, "--enforce-staged"]);
  assert.equal(none.code, 0, none.out);
  const both = await runCli(["diff", "--against", SHOP, "--enforce-staged", "--delete", old]);
  assert.equal(both.code, 2);
});
