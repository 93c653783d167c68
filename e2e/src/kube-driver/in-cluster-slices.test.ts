import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@bulrush/base";
import { inClusterSlices, serviceServers } from "@bulrush/sync-client";
import { skipWithoutKube } from "../kube/binaries.ts";
import type { KubeObject } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";

const NAMESPACE = "typha";

function slice(name: string, service: string, addresses: readonly string[], ready = true): KubeObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: NAMESPACE, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    ports: [{ name: "calico-typha", protocol: "TCP", port: 5473 }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready }, nodeName: `n-${address}` })),
  };
}

/** What a pod of an agent has: an account that may read EndpointSlices, and nothing else. */
async function accountOf({ admin, files }: KubeServer): Promise<string> {
  const [name, group] = ["bulrush-agent", "rbac.authorization.k8s.io"];
  await admin.createNamespace(NAMESPACE);
  await admin.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: NAMESPACE } });
  const rules = [{ apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["get", "list", "watch"] }];
  await admin.create({ apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name }, rules });
  await admin.create({
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: group, kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", name, namespace: NAMESPACE }],
  });
  const directory = mkdtempSync(join(tmpdir(), "bulrush-account-"));
  writeFileSync(join(directory, "token"), await admin.tokenOf(NAMESPACE, name));
  writeFileSync(join(directory, "ca.crt"), files.caPem);
  return directory;
}

test("an agent finds Typha by its Service on a real API server, and hears of every change", {
  skip: skipWithoutKube(),
}, async () => {
  await using kube = await KubeServer.start();
  const directory = await accountOf(kube);
  const clock = systemClock({ keepAlive: true });
  const feed = inClusterSlices({
    host: "127.0.0.1",
    port: String(kube.port),
    directory,
    namespace: NAMESPACE,
    serviceName: "calico-typha",
    clock,
  });
  const wanted = { serviceName: "calico-typha", portName: "calico-typha" };
  const servers = serviceServers({ feed, ...wanted, clock, random: Math.random });
  try {
    const { admin } = kube;
    await admin.create(slice("a", "calico-typha", ["10.0.0.1"]));
    await admin.create(slice("other", "other", ["10.0.0.99"]));
    const hosts = async (): Promise<string[]> => (await servers.list()).map(({ host }) => host).sort();
    const until = async (what: readonly string[]): Promise<void> => {
      for (const endMs = performance.now() + 60_000; (await hosts()).join() !== what.join(); ) {
        assert.ok(performance.now() < endMs, `${(await hosts()).join()} and not ${what.join()}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    // The role may take a moment to be in force.
    while ((await hosts().catch(() => [])).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await until(["10.0.0.1"]);
    assert.deepEqual(await servers.list(), [{ host: "10.0.0.1", port: 5473, nodeName: "n-10.0.0.1" }]);
    await admin.create(slice("b", "calico-typha", ["10.0.0.2", "10.0.0.3"]));
    await until(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    await admin.replace(slice("b", "calico-typha", ["10.0.0.3"]));
    await until(["10.0.0.1", "10.0.0.3"]);
    await admin.replace(slice("b", "calico-typha", ["10.0.0.3"], false));
    await until(["10.0.0.1"]);
    await kube.apiserver.kill();
    assert.deepEqual(await hosts(), ["10.0.0.1"], "an API server that is away takes no Typha away");
    await kube.restart();
    await admin.delete(slice("a", "calico-typha", []));
    await until([]);
  } finally {
    servers.close();
    rmSync(directory, { recursive: true });
  }
});
