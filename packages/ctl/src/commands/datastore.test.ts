import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { type CliResult, runCli, spawnCli } from "../testing/run-cli.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-ctl-"));
after(() => rmSync(root, { recursive: true }));
const V3 = "projectcalico.org/v3";

function policy(name: string, namespace: string, labels: object = {}): string {
  return JSON.stringify({
    apiVersion: V3,
    kind: "NetworkPolicy",
    metadata: { name, namespace, labels },
    spec: { order: 5, selector: "app == 'web'", ingress: [{ action: "Allow", protocol: "TCP" }] },
  });
}

function tier(name: string, order = 7): string {
  return JSON.stringify({ apiVersion: V3, kind: "Tier", metadata: { name }, spec: { order } });
}

class Store {
  readonly directory: string;

  constructor(files: Readonly<Record<string, string>> = {}) {
    this.directory = mkdtempSync(join(root, "d"));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.directory, name)), { recursive: true });
      writeFileSync(join(this.directory, name), text);
    }
  }

  run(argv: readonly string[], input = ""): Promise<CliResult> {
    return runCli(argv, input, { BULRUSH_DATASTORE_DIR: this.directory });
  }

  read(name: string): string {
    return readFileSync(join(this.directory, name), "utf8");
  }
}

test("delete says no more of a file that it cannot edit than is so", async () => {
  const store = new Store({ "a.yaml": `${policy("x", "default")}\n...\n---\n${policy("y", "default")}\n` });
  assert.deepEqual(await store.run(["delete", "np", "x"]), {
    code: 1,
    out: "",
    err: 'error: networkpolicies/default/x: "a.yaml" has YAML directives or end markers (... or %): edit it by hand\n',
  });
});

test("get shows each resource on one line that does nothing to the terminal", async () => {
  const manifest = JSON.parse(policy("x", "default")) as { readonly spec: object };
  const odd = { ...manifest, spec: { ...manifest.spec, selector: "app == '\u001b[31m\nw'" } };
  const store = new Store({ "b.json": JSON.stringify(odd) });
  assert.equal(
    (await store.run(["get", "np"])).out.split("\n")[1],
    String.raw`x      default   5       Ingress   app == '\u001b[31m\u000aw'`,
  );
});

test("get shows a table of one namespace or of all", async () => {
  const store = new Store({ "a.json": policy("web", "shop"), "b.json": policy("x", "default") });
  assert.deepEqual(await store.run(["get", "np"]), {
    code: 0,
    out: "NAME   TIER      ORDER   TYPES     SELECTOR\nx      default   5       Ingress   app == 'web'\n",
    err: "",
  });
  assert.equal(
    (await store.run(["get", "networkpolicies", "-A"])).out,
    [
      "NAMESPACE   NAME   TIER      ORDER   TYPES     SELECTOR",
      "default     x      default   5       Ingress   app == 'web'",
      "shop        web    default   5       Ingress   app == 'web'",
      "",
    ].join("\n"),
  );
});

test("get shows what is there without a file, and each kind of several with its name", async () => {
  const { out } = await new Store({ "a.json": tier("t") }).run(["get", "tiers,clusterinformations"]);
  assert.equal(
    out,
    [
      "# tiers",
      "NAME            ORDER      DEFAULT",
      "default         1000000    Deny",
      "kube-admin      1000       Pass",
      "kube-baseline   10000000   Pass",
      "t               7          Deny",
      "",
      "# clusterinformations",
      "NAME      READY   VERSION   TYPE",
      "default   true",
      "",
    ].join("\n"),
  );
});

test("get prints what can be read, names what cannot, and ends with 1: a backup of it would not be whole", async () => {
  const store = new Store({
    "a.json": policy("a", "s"),
    "b.yaml": "apiVersion: projectcalico.org/v3\nkind: {",
    "c.json": JSON.stringify({ apiVersion: "projectcalico.org/v3", kind: "NetworkPolicy", metadata: { name: 7 } }),
  });
  const { code, out, err } = await store.run(["get", "np", "-A", "-o", "name"]);
  assert.deepEqual([code, out], [1, "networkpolicies/s/a\n"]);
  assert.match(err, /^error: b\.yaml:\d+: .*\nerror: c\.json.*\n$/);
  // What is wrong with one kind does not concern another; a file that is no manifest may be of any.
  const tiers = await store.run(["get", "tiers"]);
  assert.equal(tiers.code, 1);
  assert.match(tiers.err, /^error: b\.yaml:\d+: .*\n$/);
});

test("get selects by labels and prints names", async () => {
  const store = new Store({ "a.json": policy("a", "s", { x: "1" }), "b.json": policy("b", "s", { x: "2" }) });
  const names = async (selector: string): Promise<string> =>
    (await store.run(["get", "np", "-A", "-l", selector, "-o", "name"])).out;
  assert.equal(await names("x=1"), "networkpolicies/s/a\n");
  assert.equal(await names("has(x) && x != '1'"), "networkpolicies/s/b\n");
});

test("get prints one named resource by itself and several as a list, which apply takes back", async () => {
  const store = new Store({ "a.json": policy("a", "s"), "b.json": policy("b", "s") });
  const one = JSON.parse((await store.run(["get", "np", "a", "-n", "s", "-o", "json"])).out) as { kind: string };
  assert.equal(one.kind, "NetworkPolicy");
  const yaml = (await store.run(["get", "np", "a", "b", "-n", "s", "-o", "yaml"])).out;
  assert.match(yaml, /^apiVersion: v1\nkind: List\n/);
  const { code, out } = await store.run(["apply", "-f", "-"], yaml);
  assert.deepEqual([code, out], [0, "networkpolicies/s/a configured\nnetworkpolicies/s/b configured\n"]);
});

test("get --export leaves out what the store counts", async () => {
  const store = new Store({
    "a.json": JSON.stringify({ ...JSON.parse(tier("t")), metadata: { name: "t", uid: "u" } }),
  });
  const { out } = await store.run(["get", "tier", "t", "-o", "json", "--export"]);
  assert.deepEqual((JSON.parse(out) as { metadata: object }).metadata, { name: "t" });
});

const failures: readonly [title: string, argv: string[], code: number, err: RegExp][] = [
  [
    "get of what is not there",
    ["get", "np", "x", "-n", "s"],
    1,
    /^error: There is no NetworkPolicy x in namespace s\n/,
  ],
  ["get of a cluster-wide thing that is not there", ["get", "tier", "x"], 1, /^error: There is no Tier x\n/],
  ["get of nothing", ["get", "pods"], 0, /^Nothing found\n$/],
  ["get of what may be of another kind", ["get", "nodes"], 0, /^Nothing found; there is also the kind nodes\.v1\n$/],
  ["get without a kind", ["get"], 2, /^error: Say a kind/],
  ["get of an unknown kind", ["get", "teirs"], 2, /did you mean tiers\?/],
  ["get of names of several kinds", ["get", "tiers,gnp", "x"], 2, /one kind/],
  ["get of a name in all namespaces", ["get", "np", "x", "-A"], 2, /-A does not go with names/],
  ["delete of what is not there", ["delete", "tier", "x"], 1, /^error: tiers\/x: Tier x is not there\n$/],
  ["delete without names", ["delete", "tier"], 2, /names/],
  ["delete of a built-in tier", ["delete", "tier", "default"], 1, /in every cluster; --force/],
  ["delete of ClusterInformation", ["delete", "clusterinfo", "default"], 1, /No agent starts/],
  ["apply without a path", ["apply"], 2, /-f, --file PATH is needed/],
];
for (const [title, argv, code, err] of failures) {
  test(`exit code and reason: ${title}`, async () => {
    const result = await new Store().run(argv);
    assert.equal(result.code, code, result.err);
    assert.match(result.err, err);
  });
}

test("commands say which setting is missing when no datastore can be chosen", async () => {
  const { code, err } = await runCli(["get", "tiers"], "", { DATASTORE_TYPE: "file" });
  assert.deepEqual([code, err], [1, 'error: DATASTORE_TYPE is "file" but BULRUSH_DATASTORE_DIR is not set\n']);
});

test("apply creates, leaves alone and changes, and says which", async () => {
  const store = new Store();
  const manifest = (order: number): string => `${tier("t", order)}\n---\n${policy("web", "shop")}`;
  const apply = async (order: number): Promise<string> => (await store.run(["apply", "-f", "-"], manifest(order))).out;
  assert.equal(await apply(1), "tiers/t created\nnetworkpolicies/shop/web created\n");
  assert.equal(await apply(1), "tiers/t unchanged\nnetworkpolicies/shop/web unchanged\n");
  assert.equal(await apply(2), "tiers/t configured\nnetworkpolicies/shop/web unchanged\n");
  assert.match(store.read("tiers/t.yaml"), /order: 2/);
  assert.match(store.read("networkpolicies/shop.web.yaml"), /selector: app == 'web'/);
});

test("apply --dry-run says what it would do, and does nothing", async () => {
  const store = new Store({ "a.json": tier("a") });
  const { code, out } = await store.run(["apply", "-f", "-", "--dry-run"], `${tier("a", 9)}\n---\n${tier("b")}`);
  assert.deepEqual([code, out], [0, "tiers/a configured (dry run)\ntiers/b created (dry run)\n"]);
  assert.deepEqual([store.read("a.json"), readdirSync(store.directory)], [tier("a"), ["a.json"]]);
});

test("apply writes nothing when anything is bad, and names the field", async () => {
  const store = new Store();
  const bad = policy("bad", "shop").replace("app == 'web'", "app = = 1");
  const { code, out, err } = await store.run(["apply", "-f", "-"], `${tier("t")}\n---\n${bad}`);
  assert.deepEqual([code, out, readdirSync(store.directory)], [1, "", []]);
  assert.match(err, /^error: -:3 \(document 2\): NetworkPolicy shop\/bad: spec\.selector: /);
  assert.match(err, /error: 1 of 2 resources are bad: nothing was written\n$/);
});

test("apply does not overwrite what somebody changed since it was read", async () => {
  const store = new Store({ "a.json": tier("a", 1), "b.json": tier("b", 1) });
  const read = (await store.run(["get", "tiers", "-l", "!x", "-o", "yaml"])).out;
  writeFileSync(join(store.directory, "a.json"), tier("a", 99));
  const { code, out, err } = await store.run(["apply", "-f", "-"], read.replaceAll("order: 1\n", "order: 2\n"));
  assert.equal(code, 1);
  assert.match(out, /tiers\/b configured/);
  assert.match(err, /^error: tiers\/a: Tier a has revision \S+, not \S+: somebody changed it \(.*resourceVersion/m);
  assert.equal(store.read("a.json"), tier("a", 99));
});

test("apply -o json has one entry a resource, with code and message where it failed", async () => {
  const store = new Store({ "a.json": tier("a", 1) });
  const stale = JSON.stringify({ ...JSON.parse(tier("a", 2)), metadata: { name: "a", resourceVersion: "old" } });
  const { code, out } = await store.run(["apply", "-f", "-", "-o", "json"], `${stale}\n---\n${tier("b")}`);
  assert.equal(code, 1);
  const [first, second] = JSON.parse(out) as Record<string, string>[];
  assert.deepEqual(
    [first?.["action"], first?.["code"], second],
    ["failed", "DATASTORE_CONFLICT", { kind: "Tier", namespace: "", name: "b", action: "created" }],
  );
});

test("delete removes by name and by manifest, policies before their tier", async () => {
  const inTier = JSON.parse(policy("web", "shop")) as { spec: object };
  const policyText = JSON.stringify({ ...inTier, spec: { ...inTier.spec, tier: "t" } });
  const store = new Store({ "all.yaml": `${tier("t")}\n---\n${policyText}\n---\n${tier("other")}\n` });
  const refused = await store.run(["delete", "tier", "t"]);
  assert.deepEqual([refused.code, refused.out], [1, ""]);
  assert.match(refused.err, /tiers\/t: The tier still has 1 policy; --force/);
  const { code, out } = await store.run(["delete", "-f", "-"], `${tier("t")}\n---\n${policyText}`);
  assert.deepEqual([code, out], [0, "networkpolicies/shop/web deleted\ntiers/t deleted\n"]);
  assert.equal(store.read("all.yaml"), `---\n${tier("other")}\n`);
  const again = await store.run(["delete", "tier", "t", "other", "--ignore-not-found"]);
  assert.deepEqual([again.code, again.out], [0, "tiers/t absent\ntiers/other deleted\n"]);
  assert.deepEqual(readdirSync(store.directory), []);
});

test("initialise writes ClusterInformation into a directory, once", async () => {
  const store = new Store();
  const { code, out } = await store.run(["initialise", "--cluster-type", "bare"]);
  assert.equal(code, 0);
  assert.match(out, /^The datastore is initialised, cluster [0-9a-f]{32}, ready\n$/);
  assert.equal((await store.run(["initialise"])).out, out);
  assert.match(store.read("clusterinformations/default.yaml"), /clusterType: bare/);
});

test("the program applies and gets as a user runs it", async () => {
  const store = new Store();
  const env = { BULRUSH_DATASTORE_DIR: store.directory };
  const applied = await spawnCli(["apply", "-f", "-"], tier("t"), env);
  assert.deepEqual(applied, { code: 0, out: "tiers/t created\n", err: "" });
  const { code, out } = await spawnCli(["get", "tier", "t", "-o", "name"], "", env);
  assert.deepEqual([code, out], [0, "tiers/t\n"]);
});
