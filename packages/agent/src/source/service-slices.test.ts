import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@bulrush/base";
import { silentLogger } from "@bulrush/service";
import { serviceServers } from "@bulrush/sync-client";
import { serviceSlices } from "./service-slices.ts";

function manifest(namespace: string, addresses: readonly string[]): string {
  return JSON.stringify({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `typha-${namespace}`, namespace, labels: { "kubernetes.io/service-name": "calico-typha" } },
    addressType: "IPv4",
    ports: [{ name: "calico-typha", protocol: "TCP", port: 5473 }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  });
}

test("serviceSlices() reads with the pod's own account, without the client library, where nothing else is said", async () => {
  const loaded: string[] = [];
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      loaded.push(specifier);
      return next(specifier, context);
    },
  });
  try {
    const list = async (more: object): Promise<string> => {
      const inCluster = { host: "127.0.0.1", port: "1" };
      const datastore = { type: "kubernetes", inCluster, serviceAccountDirectory: "/nonexistent", ...more } as const;
      const options = { datastore, namespace: "n", serviceName: "s", clock: systemClock(), logger: silentLogger };
      const feed = serviceSlices(options);
      const message = await feed.list(new AbortController().signal).then(String, String);
      await feed.close();
      return message;
    };
    assert.match(await list({ home: "/nonexistent" }), /ENOENT.*\/nonexistent\/token/);
    assert.ok(!loaded.includes("@kubernetes/client-node"));
    await list({ server: "https://127.0.0.1:1", token: "t" });
    assert.ok(loaded.includes("@kubernetes/client-node"));
  } finally {
    hooks.deregister();
  }
});

test("serviceSlices() gives the slices of one namespace, and what becomes of them", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "slices-"));
  writeFileSync(join(directory, "a.json"), manifest("kube-system", ["10.0.0.1"]));
  writeFileSync(join(directory, "b.json"), manifest("other", ["10.0.9.9"]));
  const clock = systemClock({ keepAlive: true });
  const feed = serviceSlices({
    datastore: { type: "file", directory, debounceMs: 1, rescanIntervalMs: 20 },
    namespace: "kube-system",
    serviceName: "calico-typha",
    clock,
    logger: silentLogger,
  });
  const servers = serviceServers({
    feed,
    serviceName: "calico-typha",
    portName: "calico-typha",
    clock,
    random: () => 0,
  });
  t.after(async () => {
    servers.close();
    await feed.close();
    rmSync(directory, { recursive: true });
  });
  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      const unfollow = servers.follow(() => {
        unfollow();
        resolve();
      });
    });
  assert.deepEqual(await servers.list(), [{ host: "10.0.0.1", port: 5473 }]);
  for (const addresses of [["10.0.0.1", "10.0.0.2"], []]) {
    const news = changed();
    writeFileSync(join(directory, "a.json"), manifest("kube-system", addresses));
    await news;
    const hosts = (await servers.list()).map(({ host }) => host);
    assert.deepEqual(hosts.toSorted(), addresses);
  }
  const news = changed();
  writeFileSync(join(directory, "a.json"), manifest("kube-system", ["10.0.0.3"]));
  await news;
  const gone = changed();
  rmSync(join(directory, "a.json"));
  await gone;
  assert.deepEqual(await servers.list(), []);
});
