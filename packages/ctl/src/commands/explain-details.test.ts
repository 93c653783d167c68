import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCli, TESTDATA } from "../testing/run-cli.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-ctl-"));
after(() => rmSync(root, { recursive: true }));

const SHOP = join(TESTDATA, "shop");
const CLUSTER = join(SHOP, "cluster.yaml");

/** Manifests over those of the shop's cluster, in a directory of their own. */
function shopWith(name: string, ...manifests: readonly object[]): string {
  const directory = join(root, name);
  mkdirSync(directory);
  writeFileSync(join(directory, "more.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests }));
  return directory;
}

const V3 = "projectcalico.org/v3";
const HOST = {
  apiVersion: V3,
  kind: "HostEndpoint",
  metadata: { name: "eth0", labels: { role: "gateway" } },
  spec: { node: "gw", interfaceName: "eth0", expectedIPs: ["192.0.2.1"] },
};
const ONLY_WEB = {
  apiVersion: V3,
  kind: "GlobalNetworkPolicy",
  metadata: { name: "only-web" },
  spec: {
    selector: "role == 'gateway'",
    types: ["Ingress"],
    ingress: [{ action: "Allow", protocol: "TCP", destination: { ports: [443] } }],
  },
};

interface Answer {
  readonly verdict: string;
  readonly staged?: string;
  readonly notes?: readonly string[];
  readonly hosts?: readonly { readonly endpoint: string; readonly stage: string; readonly verdict: string }[];
  readonly backends?: readonly { readonly to: string; readonly port: number; readonly verdict: string }[];
  readonly ingress?: {
    readonly next?: { readonly policy: string };
    readonly unselected?: readonly { readonly policy: string }[];
  };
}

async function answer(...argv: readonly string[]): Promise<Answer> {
  const { code, out, err } = await runCli(["explain", ...argv, "-o", "json"]);
  assert.deepEqual([code, err], [0, ""]);
  return JSON.parse(out) as Answer;
}

test("explain judges host endpoints, by address and by name, behind the failsafe ports of the settings", async () => {
  const settings = {
    apiVersion: V3,
    kind: "FelixConfiguration",
    metadata: { name: "default" },
    spec: { failsafeInboundHostPorts: [{ protocol: "tcp", port: 2222 }] },
  };
  const path = shopWith("hosts", HOST, ONLY_WEB, settings);
  const to = (end: string, port: number): Promise<Answer> =>
    answer("-f", path, "--from", "198.51.100.1", "--to", end, "--port", `${port}`);
  assert.deepEqual(
    (await to("192.0.2.1", 443)).hosts?.map(({ endpoint, stage }) => [endpoint, stage]),
    [["gw/eth0", "normal"]],
  );
  assert.equal((await to("node:gw", 443)).verdict, "allow");
  assert.equal((await to("hostendpoint:gw/eth0", 80)).verdict, "deny");
  assert.equal((await to("192.0.2.1", 2222)).verdict, "allow");
  assert.equal((await to("192.0.2.1", 22)).verdict, "deny", "the default ports are set aside");
  const { out } = await runCli(["explain", "-f", path, "--from=198.51.100.1", "--to=node:gw", "--port=80"]);
  assert.match(out, /^ingress at host endpoint gw\/eth0, normal policy: deny by the end of tier default$/m);
  assert.doesNotMatch(out, /ingress: not judged/);
});

test("explain says what is next, what staged policies change, and which do not apply", async () => {
  const staged = {
    apiVersion: V3,
    kind: "StagedNetworkPolicy",
    metadata: { name: "closed", namespace: "shop" },
    spec: { selector: "app == 'db'", order: 1, types: ["Ingress"], ingress: [{ action: "Deny" }] },
  };
  const elsewhere = {
    apiVersion: V3,
    kind: "NetworkPolicy",
    metadata: { name: "for-web", namespace: "shop" },
    spec: { selector: "app == 'web'", ingress: [{ action: "Allow" }] },
  };
  const directory = shopWith("staged", staged, elsewhere);
  copyFileSync(CLUSTER, join(directory, "cluster.yaml"));
  copyFileSync(join(TESTDATA, "shop/policy.yaml"), join(directory, "policy.yaml"));
  const flow = ["-f", directory, "--from", "shop/web", "--to", "shop/db", "--port", "5432"];
  const said = await answer(...flow);
  assert.deepEqual([said.verdict, said.staged], ["allow", "deny"]);
  assert.deepEqual(
    said.ingress?.unselected?.map(({ policy }) => policy),
    ["NetworkPolicy/shop/for-web"],
  );
  const { out } = await runCli(["explain", ...flow]);
  assert.match(out, /^ {2}without it: deny by the end of tier default$/m);
  assert.match(
    out,
    /^ {2}with staged policies enforced: deny by StagedNetworkPolicy\/shop\/closed, rule 0 \(tier default\)$/m,
  );
  assert.match(out, /^with staged policies enforced: then deny$/m);
  const steps = await runCli(["explain", ...flow, "--steps"]);
  assert.match(
    steps.out,
    /^ {4}NetworkPolicy\/shop\/for-web \(tier default\): app == "web" does not hold: app is "db"$/m,
  );
});

test("explain takes a service as its backends", async () => {
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "front", namespace: "shop" },
    spec: { clusterIP: "10.96.0.9", ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  };
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "front-1", namespace: "shop", labels: { "kubernetes.io/service-name": "front" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.7.1"] }, { addresses: ["192.0.2.1"] }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
  const path = shopWith("service", HOST, ONLY_WEB, service, slice);
  const said = await answer("-f", path, "--from", "198.51.100.1", "--to", "service:shop/front", "--port", "80");
  assert.deepEqual(
    said.backends?.map(({ to, port, verdict }) => [to, port, verdict]),
    [
      ["10.0.7.1", 8080, "allow"],
      ["192.0.2.1", 8080, "deny"],
    ],
  );
  const flow = { from: "198.51.100.1", to: "service:shop/front", protocol: "TCP", port: 80 };
  const lines = [flow, { ...flow, port: 81 }].map((line) => JSON.stringify(line)).join("\n");
  const many = await runCli(["explain", "-f", path, "--flows", "-"], lines);
  const [first, second] = many.out
    .trimEnd()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { verdict?: string; backends?: { to: string; verdict: string }[]; error?: string },
    );
  assert.equal(first?.verdict, "mixed");
  assert.deepEqual(
    first.backends?.map(({ to, verdict }) => [to, verdict]),
    [
      ["10.0.7.1", "allow"],
      ["192.0.2.1", "deny"],
    ],
  );
  assert.match(second?.error ?? "", /has no port TCP 81/);
  const byAddress = await answer("-f", path, "--from", "198.51.100.1", "--to", "10.96.0.9", "--port", "80");
  assert.match(byAddress.notes?.[0] ?? "", /address of service shop\/front/);
  const rows: readonly (readonly [to: string, port: string, err: RegExp])[] = [
    ["service:shop/none", "80", /Unknown service "shop\/none"/],
    ["service:shop/front", "81", /has no port TCP 81; it has TCP 80/],
    ["service:shop/font", "80", /Unknown service "shop\/font"; did you mean "shop\/front"\?/],
  ];
  for (const [to, port, err] of rows) {
    const refused = await runCli(["explain", "-f", path, "--from", "1.1.1.1", "--to", to, "--port", port]);
    assert.equal(refused.code, 1);
    assert.match(refused.err, err);
  }
});

test("explain takes the pods that a service selects for its backends, where the manifests have no slices, and says so", async () => {
  const pod = (name: string, ip: string, port: number, phase = "Running"): object => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop", labels: { app: "front" } },
    spec: { nodeName: "n", containers: [{ name: "c", ports: [{ name: "web", containerPort: port }] }] },
    status: { phase, podIP: ip },
  });
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "front", namespace: "shop" },
    spec: {
      selector: { app: "front" },
      ports: [
        { port: 80, targetPort: "web" },
        { name: "b", port: 81 },
      ],
    },
  };
  const pods = [pod("a", "10.0.7.1", 8080), pod("b", "10.0.7.2", 8081), pod("c", "10.0.7.3", 8082, "Succeeded")];
  const path = shopWith(
    "selected",
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    service,
    ...pods,
  );
  const ask = (port: string): Promise<Answer> =>
    answer("-f", path, "--from", "198.51.100.1", "--to", "service:shop/front", "--port", port);
  const said = await ask("80");
  assert.deepEqual(
    said.backends?.map(({ to, port }) => [to, port]),
    [
      ["10.0.7.1", 8080],
      ["10.0.7.2", 8081],
    ],
  );
  assert.deepEqual(
    (await ask("81")).backends?.map(({ port }) => port),
    [81, 81],
  );
  const { out } = await runCli([
    "explain",
    "-f",
    path,
    "--from",
    "1.1.1.1",
    "--to",
    "service:shop/front",
    "--port",
    "80",
  ]);
  assert.match(out, /^note: No EndpointSlice of service shop\/front is here: the pods that it selects/m);
});

test("explain --live reads the datastore of the environment", async () => {
  const directory = join(TESTDATA, "shop");
  const argv = ["explain", "--live", "--from", "shop/web", "--to", "shop/db", "--port", "5432", "-o", "json"];
  const { code, out } = await runCli(argv, "", { DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: directory });
  assert.equal(code, 0);
  assert.equal((JSON.parse(out) as Answer).verdict, "allow");
  const both = await runCli([...argv, "-f", directory]);
  assert.equal(both.code, 2);
  assert.match(both.err, /-f and --live are two sources/);
});

test("explain says where the deciding rule was written: of manifests by file, of a datastore by field", async () => {
  const policy = `${SHOP}/policy.yaml`;
  const flow = ["--from", "shop/web", "--to", "shop/db", "--port", "5432"];
  const { out } = await runCli(["explain", "-f", SHOP, ...flow]);
  assert.match(out, /^ {2}written at policy\.yaml:12, spec\.egress\[1\]$/m);
  assert.match(out, /^ {2}written at policy\.yaml:2, spec\.ingress\[0\]\.from\[0\]$/m);
  const json = await runCli(["explain", "-f", policy, "-f", `${SHOP}/cluster.yaml`, ...flow, "-o", "json"]);
  const { ingress } = JSON.parse(json.out) as { ingress: { source: object } };
  assert.deepEqual(ingress.source, { file: "policy.yaml", line: 2, field: "spec.ingress[0].from[0]" });
  const live = await runCli(["explain", "--live", ...flow], "", {
    DATASTORE_TYPE: "file",
    BULRUSH_DATASTORE_DIR: SHOP,
  });
  assert.match(live.out, /^ {2}written at .*spec\.ingress\[0\]\.from\[0\]$/m);
});

test("explain names the policies that make a tier deny the rest, those without rules too", async () => {
  const deny = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "closed", namespace: "shop" },
  };
  const { out } = await runCli(
    ["explain", "-f", SHOP, "-f", "-", "--from", "other/guest", "--to", "shop/db", "--port", "5432"],
    JSON.stringify({ ...deny, spec: { podSelector: {} } }),
  );
  assert.match(out, /apply to the endpoint \(.*KubernetesNetworkPolicy\/shop\/closed.*\): the tier denies the rest$/m);
  assert.match(out, /KubernetesNetworkPolicy\/shop\/db-only-from-web/);
});
