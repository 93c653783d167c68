import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli, TESTDATA } from "../testing/run-cli.ts";

interface Kv {
  readonly key: string;
  readonly value: unknown;
}

test("convert prints one KV a line, sorted by key", async () => {
  const { code, out } = await runCli(["convert", "-f", `${TESTDATA}/shop`]);
  assert.equal(code, 0);
  const kvs = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Kv);
  const keys = kvs.map(({ key }) => key);
  assert.deepEqual(
    keys,
    keys.toSorted((a, b) => (a < b ? -1 : 1)),
  );
  const db = kvs.find(({ key }) => key === "/calico/v1/host/node-2/workload/k8s/shop%2fdb/endpoint/eth0");
  const endpoint = db?.value as { ipv4_nets: string[]; labels: Record<string, string> } | undefined;
  assert.deepEqual([endpoint?.ipv4_nets, endpoint?.labels["app"]], [["10.0.2.1/32"], "db"]);
  assert.ok(keys.includes("/calico/v1/policy/KubernetesNetworkPolicy/shop/db-only-from-web"));
  // Finished, and on the host's network.
  assert.ok(!keys.some((key) => key.includes("shop%2fjob") || key.includes("other%2fagent")));
});

test("convert -o json and yaml hold the same", async () => {
  const [ndjson, json, yaml] = await Promise.all(
    ["ndjson", "json", "yaml"].map((format) => runCli(["convert", "-f", `${TESTDATA}/shop`, "-o", format])),
  );
  assert.deepEqual(
    JSON.parse(json?.out ?? ""),
    ndjson?.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  );
  assert.match(yaml?.out ?? "", /^- key: \/calico\/v1\/Ready\n {2}value: true$/m);
});

test("convert reports what is bad and prints what stands in its place", async () => {
  const { code, out, err } = await runCli(["convert", "-f", `${TESTDATA}/bad`]);
  assert.equal(code, 0);
  assert.match(err, /NetworkPolicy shop\/bad-selector/);
  assert.match(out, /"key":"\/calico\/v1\/policy\/NetworkPolicy\/shop\/bad-selector"/);
  const line = out.split("\n").find((text) => text.includes("shop/bad-selector")) ?? "{}";
  const { value } = JSON.parse(line) as { value: { inbound_rules: unknown[] } };
  // Its allow rule is gone: nothing is opened by what cannot be read.
  assert.deepEqual(value.inbound_rules, []);
});

test("convert names interfaces by FELIX_INTERFACEPREFIX, as Typha does", async () => {
  const pod = JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "podname", namespace: "namespace" },
    spec: { nodeName: "n", containers: [{ name: "main" }] },
    status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }] },
  });
  const { code, out } = await runCli(["convert", "-f", "-"], pod, { FELIX_INTERFACEPREFIX: "eni,veth,foo" });
  assert.equal(code, 0);
  assert.ok(out.includes('"eni82111e10a96"'), out);
});
