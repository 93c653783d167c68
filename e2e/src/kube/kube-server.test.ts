import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { kubeBinaries, skipWithoutKube } from "./binaries.ts";
import { EtcdServer } from "./etcd-server.ts";
import { ApiProxy } from "./api-proxy.ts";
import { KubeAdmin, type KubeRefusal } from "./kube-admin.ts";
import { ADMIN_TOKEN } from "./kube-files.ts";
import { KubeServer } from "./kube-server.ts";

const CRD = `
# A comment, and an empty document before.
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: reeds.lab.example}
spec:
  group: lab.example
  scope: Namespaced
  names: {plural: reeds, singular: reed, kind: Reed}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;

describe("KubeServer", { skip: skipWithoutKube() }, () => {
  let kube: KubeServer;
  before(async () => {
    kube = await KubeServer.start({ uncached: ["pods"] });
  });
  after(() => kube.stop());

  const pod = (name: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "t1", labels: { app: "web" } },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
  });

  test("admin creates, patches, applies, lists and deletes objects", async () => {
    await kube.admin.createNamespace("t1");
    await kube.admin.create(pod("a"));
    await kube.admin.patch(pod("a"), { status: { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] } }, "status");
    const stored = await kube.admin.get(pod("a"));
    assert.equal((stored["status"] as { podIP: string }).podIP, "10.0.0.1");
    await assert.rejects(kube.admin.create(pod("a")), (error: KubeRefusal) => error.status === 409);
    await kube.admin.apply({ ...pod("b"), metadata: { ...pod("b").metadata, labels: { app: "db" } } });
    assert.deepEqual(
      new Set((await kube.admin.list("v1", "Pod")).map((one) => one.metadata.name)),
      new Set(["a", "b"]),
    );
    assert.equal(await kube.admin.delete(pod("b")), true);
    assert.equal(await kube.admin.delete(pod("b")), false);
  });

  test("tokenOf() gives a token that may do what its role says", async () => {
    await kube.admin.createNamespace("t2");
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "reader", namespace: "t2" } };
    await kube.admin.create(account);
    const token = await kube.admin.tokenOf("t2", "reader");
    const reader = kube.clientFor(token);
    assert.equal((await reader.request("GET", "/api/v1/namespaces/t2/pods")).status, 403);
    await kube.admin.create({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "reader", namespace: "t2" },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }],
    });
    await kube.admin.create({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "reader", namespace: "t2" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
      subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "t2" }],
    });
    let status = 403;
    for (let i = 0; i < 500 && status === 403; i++) {
      await sleep(10);
      ({ status } = await reader.request("GET", "/api/v1/namespaces/t2/pods"));
    }
    assert.equal(status, 200);
    assert.equal((await reader.request("GET", "/api/v1/namespaces/t1/pods")).status, 403);
    reader.close();
    const config = JSON.parse(readFileSync(kube.kubeconfigFor("reader", token), "utf8")) as {
      readonly users: readonly { readonly user: { readonly token: string } }[];
    };
    assert.equal(config.users[0]?.user.token, token);
  });

  test("installCrds() returns when they are served", async () => {
    const directory = join(kube.directory, "crds");
    mkdirSync(directory);
    writeFileSync(join(directory, "reeds.yaml"), CRD);
    assert.deepEqual(await kube.admin.installCrds(directory), ["reeds.lab.example"]);
    const reed = { apiVersion: "lab.example/v1", kind: "Reed", metadata: { name: "r", namespace: "default" } };
    await kube.admin.create({ ...reed, spec: { tall: true } });
    assert.deepEqual((await kube.admin.get(reed))["spec"], { tall: true });
  });

  test("etcd.compact() makes an old revision 410 where there is no watch cache", async () => {
    const { metadata } = await kube.admin.create(pod("old"));
    await kube.admin.create(pod("newer"));
    await kube.etcd.compact();
    const at = String(metadata["resourceVersion"]);
    const answer = await kube.admin.request(
      "GET",
      `/api/v1/pods?limit=1&resourceVersion=${at}&resourceVersionMatch=Exact`,
    );
    assert.equal(answer.status, 410);
  });

  test("ApiProxy shortens pages, sees what gets 410, and holds a list up in its middle", async (t) => {
    await kube.admin.createNamespace("t3");
    for (const name of ["a", "b", "c"]) await kube.admin.create({ ...pod(name), metadata: { name, namespace: "t3" } });
    const proxy = await ApiProxy.start({ url: kube.url, files: kube.files, maxPage: 2 });
    const admin = new KubeAdmin({
      url: `https://127.0.0.1:${proxy.port}`,
      caPem: kube.files.caPem,
      token: ADMIN_TOKEN,
    });
    t.after(() => {
      admin.close();
      proxy.stop();
    });
    const path = "/api/v1/namespaces/t3/pods";
    const page = async (query: string) => {
      const { status, body } = await admin.request("GET", `${path}?${query}`);
      const { items, metadata } = body as {
        items?: unknown[];
        metadata: { continue?: string; resourceVersion: string };
      };
      return { status, items: items?.length, ...metadata };
    };
    const first = await page("limit=500");
    assert.deepEqual([first.status, first.items], [200, 2]);
    assert.equal((await page(`limit=500&continue=${first.continue ?? ""}`)).items, 1);
    const held: string[] = [];
    proxy.beforeNextContinuation(async (of) => {
      held.push(of);
      // One is not enough for the watch: the revision after its own would still be there.
      for (const name of ["d", "e"]) await kube.admin.create({ ...pod(name), metadata: { name, namespace: "t3" } });
      await kube.etcd.compact();
    });
    assert.equal((await page(`limit=500&continue=${first.continue ?? ""}`)).status, 410);
    assert.deepEqual(held, [path]);
    const watch = await admin.request(
      "GET",
      `${path}?watch=true&resourceVersion=${first.resourceVersion}&timeoutSeconds=1`,
    );
    assert.match(JSON.stringify(watch.body), /410/);
    const { lists, continuations, expiredContinuations, watches, expiredWatches } = proxy.traffic;
    assert.deepEqual(
      { lists, continuations, expiredContinuations, watches, expiredWatches },
      {
        lists: 1,
        continuations: 2,
        expiredContinuations: 1,
        watches: 1,
        expiredWatches: 1,
      },
    );
  });

  test("restart() takes other options: a server without a feature", async () => {
    const query =
      "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
    const ask = async () => (await kube.admin.request("GET", `/api/v1/pods?${query}`)).status;
    assert.equal(await ask(), 200);
    await kube.restart({ featureGates: { WatchList: false } });
    assert.equal(await ask(), 422);
  });

  test("apiserver.restart() and etcd.daemon.restart() keep port and data", async () => {
    await kube.admin.create(pod("kept"));
    await kube.apiserver.kill();
    await assert.rejects(kube.admin.request("GET", "/readyz"));
    await kube.etcd.daemon.restart();
    await kube.apiserver.restart();
    assert.equal((await kube.admin.get(pod("kept"))).metadata.name, "kept");
  });
});

describe("EtcdServer", { skip: skipWithoutKube() }, () => {
  test("serves TLS to those with a certificate", async () => {
    await using etcd = await EtcdServer.start({ tls: true });
    await etcd.ctl("put", "a", "1");
    assert.equal(await etcd.ctl("get", "a", "--print-value-only"), "1\n");
    assert.match(etcd.endpoint, /^https:/);
  });

  test("lets nobody in without a password where there is one", async () => {
    await using etcd = await EtcdServer.start({ rootPassword: "secret" });
    await etcd.ctl("put", "a", "1");
    await assert.rejects(etcd.ctl("get", "a", "--user=root:wrong"), /authentication failed/);
  });

  test("ends with the process that started it, even if that one is killed", async () => {
    const script = `
      import { EtcdServer } from ${JSON.stringify(join(import.meta.dirname, "etcd-server.ts"))};
      const etcd = await EtcdServer.start();
      process.stdout.write(JSON.stringify({ pid: etcd.daemon.pid, directory: etcd.directory }) + "\\n");
      setInterval(() => {}, 1000);
    `;
    const args = ["--conditions=bulrush-source", "--input-type=module-typescript", "-e", script];
    const parent: ChildProcess = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(parent.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    const { pid, directory } = JSON.parse(line.toString()) as { readonly pid: number; readonly directory: string };
    assert.ok(readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(kubeBinaries().etcd));
    parent.kill("SIGKILL");
    for (let i = 0; i < 200 && isAlive(pid); i++) await sleep(10);
    assert.equal(isAlive(pid), false);
    rmSync(directory, { recursive: true });
  });
});

/** A process that ended and that nobody has waited for yet is not alive. */
function isAlive(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
