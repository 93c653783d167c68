/** `bulrushctl get|apply|delete|initialise|migrate` on a directory, a real etcd and a real kube-apiserver. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CALICO_V3, type Resource } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { runCtl } from "./run-ctl.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");

interface Store {
  /** As `migrate` calls it. */
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

function directory(): Promise<Store> {
  const path = mkdtempSync(join(tmpdir(), "bulrush-ctl-store-"));
  const env = { BULRUSH_DATASTORE_DIR: path };
  return Promise.resolve({
    name: `file:${path}`,
    env,
    stop: () => Promise.resolve(rmSync(path, { recursive: true })),
  });
}

async function etcd(): Promise<Store> {
  const server = await EtcdServer.start();
  return {
    name: "etcdv3",
    env: { DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: server.endpoint },
    stop: () => server.stop(),
  };
}

async function kubernetes(): Promise<Store> {
  const server = await KubeServer.start();
  await server.admin.installCrds(join(CRDS, "crd.projectcalico.org"));
  await server.admin.createNamespace("shop");
  return {
    name: "kubernetes",
    env: { DATASTORE_TYPE: "kubernetes", KUBECONFIG: server.kubeconfig },
    stop: () => server.stop(),
  };
}

function tier(order: number): object {
  return { apiVersion: CALICO_V3, kind: "Tier", metadata: { name: "t" }, spec: { order, defaultAction: "Pass" } };
}

const POLICY = {
  apiVersion: CALICO_V3,
  kind: "NetworkPolicy",
  metadata: { name: "t.web", namespace: "shop", labels: { team: "shop" }, annotations: { why: "because" } },
  spec: { tier: "t", order: 1.5, selector: "app == 'web'", ingress: [{ action: "Allow", protocol: "TCP" }] },
};
const SET = {
  apiVersion: CALICO_V3,
  kind: "GlobalNetworkSet",
  metadata: { name: "s" },
  spec: { nets: ["10.0.0.0/8"] },
};
const POOL = { apiVersion: CALICO_V3, kind: "IPPool", metadata: { name: "p" }, spec: { cidr: "10.1.0.0/16" } };
const ALL = [tier(7), POLICY, SET, POOL];

function ipam(kind: string, name: string, spec: object): object {
  return { apiVersion: CALICO_V3, kind, metadata: { name }, spec };
}

/** One address of a block is in use. */
const ADDRESSES = [
  ipam("IPAMBlock", "10-1-0-0-30", {
    cidr: "10.1.0.0/30",
    affinity: "host:n1",
    allocations: [0, null, null, null],
    unallocated: [1, 2, 3],
    attributes: [{ handle_id: "h1", secondary: { node: "n1" } }],
    strictAffinity: false,
  }),
  ipam("IPAMHandle", "h1", { handleID: "h1", block: { "10.1.0.0/30": 1 } }),
  ipam("IPAMConfig", "default", { strictAffinity: true, autoAllocateBlocks: true }),
];

function manifest(...objects: readonly object[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
}

function items(out: string): readonly Resource[] {
  return (JSON.parse(out) as { items: readonly Resource[] }).items;
}

/** What is in a store of the things above, without what it counts. */
async function contents(env: Store["env"]): Promise<readonly unknown[]> {
  const kinds = "tiers,networkpolicies,globalnetworksets,ippools,ipamblocks,blockaffinities,ipamhandles,ipamconfigs";
  const { code, out, err } = await runCtl(["get", kinds, "-A", "--export", "-o", "json"], env);
  assert.equal(code, 0, err);
  return items(out)
    .filter(({ kind, metadata }) => kind !== "Tier" || metadata.name === "t")
    .map(({ kind, metadata: { labels = {}, annotations = {}, ...metadata }, spec }) => ({
      kind,
      metadata: { ...metadata, labels, annotations },
      spec,
    }));
}

async function isReady(env: Store["env"]): Promise<unknown> {
  const { out } = await runCtl(["get", "clusterinformation", "default", "-o", "json"], env);
  return (JSON.parse(out) as { spec: { datastoreReady?: boolean } }).spec.datastoreReady;
}

const STORES = { directory, etcd, kubernetes } as const;

/** Each is started once: the real ones take seconds. */
const started = new Map<keyof typeof STORES, Promise<Store>>();
after(async () => {
  for (const store of started.values()) await (await store).stop();
});

function storeOf(title: keyof typeof STORES): Promise<Store> {
  let store = started.get(title);
  if (store === undefined) started.set(title, (store = STORES[title]()));
  return store;
}

for (const title of ["directory", "etcd", "kubernetes"] as const) {
  describe(`bulrushctl on ${title}`, { skip: title === "directory" ? false : skipWithoutKube() }, () => {
    let store: Store;
    before(async () => {
      store = await storeOf(title);
    });
    const run = (args: readonly string[], input = "") => runCtl(args, store.env, input);

    test("initialises it, once", async () => {
      const first = await run(["initialise", "--cluster-type", "lab"]);
      assert.equal(first.code, 0, first.err);
      assert.match(first.out, /^The datastore is initialised, cluster [0-9a-f]{32}, ready\n$/);
      assert.deepEqual(await run(["initialise"]), first);
      const { out } = await run(["get", "tiers", "-o", "name"]);
      assert.equal(out, "tiers/default\ntiers/kube-admin\ntiers/kube-baseline\n");
    });

    test("applies, leaves alone, changes and deletes", async () => {
      const names = ["tiers/t", "ippools/p", "networkpolicies/shop/t.web", "globalnetworksets/s"];
      const said = (actions: readonly string[]): string => names.map((name, i) => `${name} ${actions[i]}\n`).join("");
      const apply = async (order: number): Promise<string> => {
        const { out, err } = await run(["apply", "-f", "-"], manifest(tier(order), POLICY, SET, POOL));
        assert.equal(err, "");
        return out;
      };
      assert.equal(await apply(7), said(["created", "created", "created", "created"]));
      assert.equal(await apply(7), said(["unchanged", "unchanged", "unchanged", "unchanged"]));
      assert.equal(await apply(8), said(["configured", "unchanged", "unchanged", "unchanged"]));
      const { code, out } = await run(["get", "np", "-n", "shop"]);
      assert.deepEqual(
        [code, out],
        [0, "NAME    TIER   ORDER   TYPES     SELECTOR\nt.web   t      1.5     Ingress   app == 'web'\n"],
      );
      const refused = await run(["delete", "tier", "t"]);
      assert.equal(refused.code, 1);
      assert.match(refused.err, /still has 1 policy/);
      const gone = await run(["delete", "-f", "-"], manifest(...ALL));
      assert.deepEqual([gone.code, gone.err], [0, ""]);
      assert.deepEqual(await contents(store.env), []);
      assert.equal((await run(["delete", "ippool", "p"])).code, 1);
      assert.equal((await run(["delete", "ippool", "p", "--ignore-not-found"])).code, 0);
    });

    test("does not overwrite what somebody changed since it was read", async () => {
      assert.equal((await run(["apply", "-f", "-"], manifest(SET))).code, 0);
      const [read] = [JSON.parse((await run(["get", "gns", "s", "-o", "json"])).out) as Resource];
      const changed = { ...SET, spec: { nets: ["10.2.0.0/16"] } };
      assert.equal((await run(["apply", "-f", "-"], manifest(changed))).out, "globalnetworksets/s configured\n");
      const { code, err } = await run(
        ["apply", "-f", "-"],
        JSON.stringify({ ...read, spec: { nets: ["10.3.0.0/16"] } }),
      );
      assert.equal(code, 1);
      assert.match(err, /^error: globalnetworksets\/s: .*somebody else changed it/);
      assert.deepEqual((JSON.parse((await run(["get", "gns", "s", "-o", "json"])).out) as Resource).spec, changed.spec);
      assert.equal((await run(["delete", "gns", "s"])).code, 0);
    });

    test("writes nothing when anything is bad", async () => {
      const bad = { ...SET, spec: { nets: ["10.0.0.0/99"] } };
      const { code, out, err } = await run(["apply", "-f", "-"], manifest(POOL, bad));
      assert.deepEqual([code, out], [1, ""]);
      assert.match(err, /GlobalNetworkSet s: spec\.nets\[0\]/);
      assert.deepEqual(await contents(store.env), []);
    });
  });
}

describe("bulrushctl migrate", { skip: skipWithoutKube() }, () => {
  const stores: Store[] = [];
  let kube: Store;
  let inEtcd: Store;
  before(async () => {
    [kube, inEtcd] = [await storeOf("kubernetes"), await storeOf("etcd")];
  });
  after(async () => {
    for (const store of stores) await store.stop();
  });

  test("takes everything from a directory to etcd, to Kubernetes, and back into a directory", async () => {
    const from = await directory();
    const back = await directory();
    stores.push(from, back);
    assert.equal((await runCtl(["apply", "-f", "-"], from.env, manifest(...ALL, ...ADDRESSES))).code, 0);
    const before = await contents(from.env);
    const env = { ...kube.env, ...inEtcd.env };
    let previous = from;
    for (const next of [inEtcd, kube, back]) {
      const { code, err } = await runCtl(["migrate", "--from", previous.name, "--to", next.name], env);
      assert.equal(code, 0, err);
      assert.deepEqual([await isReady(previous.env), await isReady(next.env)], [false, true], next.name);
      previous = next;
    }
    // A server's policies have the label of their tier.
    const labelled = before.map((one) => {
      const { kind, metadata } = one as Resource;
      if (kind !== "NetworkPolicy") return one;
      return {
        ...(one as object),
        metadata: { ...metadata, labels: { ...metadata.labels, "projectcalico.org/tier": "t" } },
      };
    });
    assert.deepEqual(await contents(back.env), labelled);
  });

  test("refuses a target that holds something, and says what", async () => {
    const from = await directory();
    stores.push(from);
    const { code, err } = await runCtl(["migrate", "--from", from.name, "--to", "kubernetes"], kube.env);
    assert.equal(code, 1);
    assert.match(
      err,
      /kubernetes is not empty: it has 1 tiers, 1 ippools, .*1 ipamblocks, .*1 networkpolicies; --merge/,
    );
  });

  test("refuses namespaces that Kubernetes does not have", async () => {
    const from = await directory();
    stores.push(from);
    const elsewhere = { ...POLICY, metadata: { name: "t.x", namespace: "nowhere" } };
    assert.equal((await runCtl(["apply", "-f", "-"], from.env, manifest(tier(1), elsewhere))).code, 0);
    const { code, err } = await runCtl(["migrate", "--from", from.name, "--to", "kubernetes", "--merge"], kube.env);
    assert.equal(code, 1);
    assert.match(err, /kubernetes has no namespace nowhere: create it first; nothing was written/);
  });
});
