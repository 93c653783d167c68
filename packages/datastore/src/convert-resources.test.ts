import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "@bulrush/base";
import { formatValue, type Policy, type Resource, type Update } from "@bulrush/model";
import { type Converted, convertResources } from "./convert-resources.ts";
import { loadManifests } from "./manifest/load.ts";
import { openDatastore } from "./open.ts";
import { formatProblem } from "./problem.ts";
import { felixSyncer } from "./syncer/syncer.ts";

const FIXTURE = fileURLToPath(new URL("../testdata/all-kinds.yaml", import.meta.url));

async function convertFixture(): Promise<Converted> {
  const { resources, problems } = await loadManifests(FIXTURE);
  assert.deepEqual(problems, []);
  return convertResources(resources);
}

function textOf(updates: Iterable<Update>): string[] {
  return [...updates].map(({ path, value }) => `${path} ${value === undefined ? "" : formatValue(value)}`).sort();
}

test("convertResources() makes the keys of every kind, sorted by path", async () => {
  const { updates } = await convertFixture();
  assert.deepEqual(
    updates.map(({ path }) => path),
    [
      "/calico/resources/v3/projectcalico.org/bgpconfigurations/default",
      "/calico/resources/v3/projectcalico.org/kubernetesendpointslices/shop/web-abc",
      "/calico/resources/v3/projectcalico.org/kubernetesservices/shop/web",
      "/calico/resources/v3/projectcalico.org/nodes/node-1",
      "/calico/resources/v3/projectcalico.org/profiles/hosts",
      "/calico/resources/v3/projectcalico.org/profiles/kns.shop",
      "/calico/resources/v3/projectcalico.org/profiles/ksa.shop.web",
      "/calico/resources/v3/projectcalico.org/profiles/projectcalico-default-allow",
      "/calico/v1/Ready",
      "/calico/v1/config/BPFConnectTimeLoadBalancing",
      "/calico/v1/config/BPFHostNetworkedNATWithoutCTLB",
      "/calico/v1/config/ClusterType",
      "/calico/v1/config/FloatingIPs",
      "/calico/v1/config/IptablesRefreshInterval",
      "/calico/v1/config/LogSeverityScreen",
      "/calico/v1/host/node-1/config/IPv4VXLANTunnelAddr",
      "/calico/v1/host/node-1/endpoint/node-1-eth0",
      "/calico/v1/host/node-1/workload/k8s/shop%2fweb-1/endpoint/eth0",
      "/calico/v1/ipam/v4/pool/10.65.0.0-16",
      "/calico/v1/netset/feed",
      "/calico/v1/netset/shop%2foffice",
      "/calico/v1/policy/GlobalNetworkPolicy//security.block",
      "/calico/v1/policy/KubernetesClusterNetworkPolicy//guard",
      "/calico/v1/policy/KubernetesNetworkPolicy/shop/web",
      "/calico/v1/policy/NetworkPolicy/shop/broken",
      "/calico/v1/policy/StagedKubernetesNetworkPolicy/shop/tried",
      "/calico/v1/policy/StagedNetworkPolicy/shop/tried",
      "/calico/v1/policy/profile/hosts/labels",
      "/calico/v1/policy/profile/hosts/rules",
      "/calico/v1/policy/profile/kns.shop/labels",
      "/calico/v1/policy/profile/kns.shop/rules",
      "/calico/v1/policy/profile/ksa.shop.web/labels",
      "/calico/v1/policy/profile/ksa.shop.web/rules",
      "/calico/v1/policy/profile/projectcalico-default-allow/rules",
      "/calico/v1/policy/tier/default/metadata",
      "/calico/v1/policy/tier/kube-admin/metadata",
      "/calico/v1/policy/tier/kube-baseline/metadata",
      "/calico/v1/policy/tier/security/metadata",
    ],
  );
});

test("convertResources() names what could not be read, and where", async () => {
  const { updates, problems } = await convertFixture();
  assert.deepEqual(problems.map(formatProblem), [
    "all-kinds.yaml:62 (document 6): NetworkPolicy shop/broken: spec.ingress[0].source.nets[0]: " +
      'Expected an address or CIDR, found "10.2402.0.0/16"',
  ]);
  const broken = updates.find(({ path }) => path.endsWith("/broken"))?.value as Policy | undefined;
  assert.deepEqual(broken?.inbound_rules, [{ action: "deny" }]);
});

test("convertResources() gives what the felix syncer gives on the same directory", async () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-convert-"));
  copyFileSync(FIXTURE, join(directory, "all-kinds.yaml"));
  const clock = systemClock({ keepAlive: true });
  const driver = await openDatastore({ type: "file", directory }, { clock });
  const seen = new Map<string, Update>();
  await new Promise<void>((resolve) => {
    const syncer = felixSyncer({
      driver,
      clock,
      callbacks: {
        onStatusUpdated: (status) => {
          if (status === "in-sync") void syncer.stop().then(resolve);
        },
        onUpdates: (updates) => {
          for (const update of updates) seen.set(update.path, update);
        },
      },
    });
    syncer.start();
  });
  await driver.close();
  rmSync(directory, { recursive: true });
  assert.deepEqual(textOf(seen.values()), textOf((await convertFixture()).updates));
});

test("convertResources() does not depend on the order of the resources", async () => {
  const { resources } = await loadManifests(FIXTURE);
  assert.deepEqual(
    textOf(convertResources(resources.toReversed()).updates),
    textOf(convertResources(resources).updates),
  );
});

test("convertResources() of nothing gives what every datastore has", () => {
  assert.deepEqual(
    convertResources([]).updates.map(({ path }) => path),
    [
      "/calico/resources/v3/projectcalico.org/profiles/projectcalico-default-allow",
      "/calico/v1/Ready",
      "/calico/v1/policy/profile/projectcalico-default-allow/rules",
      "/calico/v1/policy/tier/default/metadata",
      "/calico/v1/policy/tier/kube-admin/metadata",
      "/calico/v1/policy/tier/kube-baseline/metadata",
    ],
  );
});

test("convertResources() lets the first of two definitions count", () => {
  const tier = (order: number): Resource => ({
    apiVersion: "projectcalico.org/v3",
    kind: "Tier",
    metadata: { name: "default" },
    spec: { order, defaultAction: "Deny" },
  });
  const { updates, problems } = convertResources([tier(1), tier(2)]);
  assert.deepEqual(updates.find(({ path }) => path.includes("tier/default"))?.value, {
    order: 1,
    defaultAction: "Deny",
  });
  assert.equal(problems.length, 1);
});

test("convertResources() and the file driver keep the first of two items with one key, and name the other", async (t) => {
  const node = (apiVersion: string): Resource => ({ apiVersion, kind: "Node", metadata: { name: "n" } });
  const { updates, problems } = convertResources([node("v1"), node("projectcalico.org/v3")]);
  assert.deepEqual(problems.map(formatProblem), ["Node n: Already defined by Node n; ignored"]);
  const value = updates.find(({ key }) => key.type === "Resource" && key.kind === "Node")?.value as Resource;
  assert.deepEqual((value.spec as { orchRefs: unknown }).orchRefs, [{ nodeName: "n", orchestrator: "k8s" }]);

  const directory = mkdtempSync(join(tmpdir(), "bulrush-twice-"));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, "a.json"), JSON.stringify(node("v1")));
  writeFileSync(join(directory, "b.json"), JSON.stringify(node("projectcalico.org/v3")));
  const driver = await openDatastore({ type: "file", directory }, { clock: systemClock() });
  t.after(() => driver.close());
  assert.deepEqual(driver.problems().map(formatProblem), [
    "b.json:1: Node n: Already defined by Node n in a.json:1; ignored",
  ]);
});

test("convertResources() takes a profile written by hand for the namespace that every datastore has", () => {
  const { problems } = convertResources([
    { apiVersion: "projectcalico.org/v3", kind: "Profile", metadata: { name: "kns.default" }, spec: {} },
    { apiVersion: "projectcalico.org/v3", kind: "NetworkPolicy", metadata: { name: "p", namespace: "default" } },
  ]);
  assert.deepEqual(problems, []);
});
