import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCli } from "../testing/run-cli.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-tunnel-"));
after(() => rmSync(root, { recursive: true }));

const NODE = { kind: "Node", metadata: { name: "n1" }, spec: { bgp: { ipv4Address: "192.0.2.1/24" } } };
const POOL = { kind: "IPPool", metadata: { name: "p" }, spec: { cidr: "10.0.0.0/26", vxlanMode: "Always" } };

function store(...resources: readonly object[]): string {
  const directory = mkdtempSync(join(root, "d"));
  for (const [i, resource] of resources.entries())
    writeFileSync(join(directory, `${i}.json`), JSON.stringify({ apiVersion: "projectcalico.org/v3", ...resource }));
  return directory;
}

function run(directory: string, argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return runCli(["tunnel-addresses", ...argv], "", { BULRUSH_DATASTORE_DIR: directory, ...env });
}

test("a node gets its address, and keeps it", async () => {
  const directory = store(NODE, POOL);
  const first = await run(directory, ["--node", "n1", "-o", "json"]);
  assert.equal(first.code, 0, first.err);
  assert.deepEqual(JSON.parse(first.out), {
    node: "n1",
    dryRun: false,
    addresses: [
      { kind: "wireguard", action: "none", before: "", after: "" },
      { kind: "wireguardV6", action: "none", before: "", after: "" },
      { kind: "ipip", action: "none", before: "", after: "" },
      { kind: "vxlan", action: "assign", before: "", after: "10.0.0.0" },
      { kind: "vxlanV6", action: "none", before: "", after: "" },
    ],
  });
  assert.match(readFileSync(join(directory, "0.json"), "utf8"), /"ipv4VXLANTunnelAddr": ?"10\.0\.0\.0"/);
  const second = await run(directory, ["--node", "n1"]);
  assert.deepEqual(second, {
    code: 0,
    out: [
      "DEVICE        ACTION   BEFORE     AFTER",
      "wireguard     none",
      "wireguardV6   none",
      "ipip          none",
      "vxlan         keep     10.0.0.0   10.0.0.0",
      "vxlanV6       none",
      "",
    ].join("\n"),
    err: "",
  });
});

test("what is written is valid, and says whose the address is", async () => {
  const directory = store(NODE, POOL);
  await run(directory, ["--node", "n1"]);
  const env = { BULRUSH_DATASTORE_DIR: directory };
  const { code, out, err } = await runCli(["validate", "-f", directory], "", env);
  assert.equal(code, 0, out + err);
  const specOf = async (kind: string, name: string): Promise<unknown> =>
    (JSON.parse((await runCli(["get", kind, name, "-o", "json"], "", env)).out) as { spec: unknown }).spec;
  assert.deepEqual(await specOf("ipamhandle", "vxlan-tunnel-addr-n1"), {
    handleID: "vxlan-tunnel-addr-n1",
    block: { "10.0.0.0/26": 1 },
    deleted: false,
  });
  assert.deepEqual(await specOf("blockaffinity", "n1-10-0-0-0-26"), {
    state: "confirmed",
    node: "n1",
    type: "host",
    cidr: "10.0.0.0/26",
  });
});

test("--dry-run writes nothing", async () => {
  const directory = store(NODE, POOL);
  const { code, out } = await run(directory, ["--node", "n1", "--dry-run"]);
  assert.equal(code, 0);
  assert.match(out, /^vxlan {9}assign \(dry run\) {12}\(a free one\)$/m);
  assert.deepEqual(readdirSync(directory).sort(), ["0.json", "1.json"]);
});

test("with USE_POD_CIDR there is nothing to do", async () => {
  const directory = store(NODE, POOL);
  const { code, out, err } = await run(directory, ["--node", "n1"], { USE_POD_CIDR: "true" });
  assert.deepEqual([code, out], [0, ""]);
  assert.match(err, /pod CIDRs/);
  assert.deepEqual(readdirSync(directory).sort(), ["0.json", "1.json"]);
});

const FAILURES: readonly (readonly [title: string, argv: readonly string[], code: number, err: RegExp])[] = [
  ["no node is named", [], 2, /--node N is needed/],
  ["the node is not there", ["--node", "n2"], 1, /^error: There is no Node n2\n/],
  ["there are arguments", ["--node", "n1", "n2"], 2, /takes no arguments: n2/],
  ["the format is none", ["--node", "n1", "-o", "xml"], 2, /Unknown output format/],
];
for (const [title, argv, code, err] of FAILURES) {
  test(`says what is wrong where ${title}`, async () => {
    const result = await run(store(NODE, POOL), argv);
    assert.equal(result.code, code, result.err);
    assert.match(result.err, err);
  });
}
