/** Tunnel addresses on a real etcd, and on both groups of a real kube-apiserver: ten nodes at once, few blocks. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { systemClock } from "@bulrush/base";
import {
  type DatastoreConfig,
  type DatastoreWriter,
  openDatastoreWriter,
  reconcileTunnelAddresses,
  type TunnelAddressResult,
} from "@bulrush/datastore";
import { CALICO_V3, type Resource, validateResource } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import { KubeServer } from "../kube/kube-server.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");
const NODES = Array.from({ length: 10 }, (_, i) => `node-${i}`);
const clock = systemClock({ keepAlive: true });
const { signal } = new AbortController();

interface Store {
  readonly config: DatastoreConfig;
  /** Of the node, as its author writes it in this store. */
  readonly nodeVersion: string;
  stop(): Promise<void>;
}

async function startEtcd(): Promise<Store> {
  const etcd = await EtcdServer.start();
  const config: DatastoreConfig = { type: "etcdv3", endpoints: [etcd.endpoint] };
  return { config, nodeVersion: CALICO_V3, stop: () => etcd.stop() };
}

async function startKube(group: string): Promise<Store> {
  const kube = await KubeServer.start();
  await kube.admin.installCrds(join(CRDS, group));
  const config: DatastoreConfig = { type: "kubernetes", kubeconfig: [kube.kubeconfig] };
  return { config, nodeVersion: "v1", stop: () => kube.stop() };
}

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  etcd: startEtcd,
  "crd.projectcalico.org": () => startKube("crd.projectcalico.org"),
  "projectcalico.org": () => startKube("projectcalico.org"),
};

function pool(name: string, spec: object): Resource {
  return { apiVersion: CALICO_V3, kind: "IPPool", metadata: { name }, spec };
}

async function all(writer: DatastoreWriter, kind: string): Promise<readonly Resource[]> {
  const out: Resource[] = [];
  for await (const page of writer.list({ apiVersion: CALICO_V3, kind }, signal))
    out.push(...page.map(({ resource }) => resource));
  return out;
}

const wordsOf = (results: readonly (readonly TunnelAddressResult[])[]): readonly string[] =>
  [...new Set(results.flat().map(({ kind, plan }) => `${kind} ${plan.action}`))].sort();

describe("ten nodes at once get tunnel addresses, keep them and lose them", { skip: skipWithoutKube() }, () => {
  for (const [label, start] of Object.entries(STORES)) {
    test(label, async (t) => {
      const store = await start();
      t.after(() => store.stop());
      const open = async (): Promise<DatastoreWriter> => {
        const opened = await openDatastoreWriter(store.config, { clock });
        t.after(() => opened.close());
        return opened;
      };
      const writer = await open();
      // Eight blocks for ten nodes: two have to borrow.
      await writer.create(pool("p4", { cidr: "10.7.0.0/26", blockSize: 29, ipipMode: "Always" }), signal);
      await writer.create(pool("p6", { cidr: "fd00:7::/118", vxlanMode: "Always" }), signal);
      for (const name of NODES)
        await writer.create({ apiVersion: store.nodeVersion, kind: "Node", metadata: { name }, spec: {} }, signal);
      const writers = await Promise.all(NODES.map(() => open()));
      const reconcile = (): Promise<readonly (readonly TunnelAddressResult[])[]> =>
        Promise.all(
          writers.map((one, i) =>
            reconcileTunnelAddresses(one, { node: NODES[i] ?? "", signal, now: () => clock.nowMs() }),
          ),
        );

      const first = await reconcile();
      const given = first.flat().flatMap(({ after }) => (after === undefined || after === "" ? [] : [after]));
      assert.deepEqual([given.length, new Set(given).size], [20, 20]);
      for (const kind of ["IPAMBlock", "BlockAffinity", "IPAMHandle"])
        for (const resource of await all(writer, kind)) assert.deepEqual(validateResource(resource), []);
      assert.deepEqual(
        new Set((await all(writer, "BlockAffinity")).map(({ spec }) => (spec as { state: string }).state)),
        new Set(["confirmed"]),
      );

      const words = ["ipip keep", "vxlan clear", "vxlanV6 keep", "wireguard clear", "wireguardV6 clear"];
      assert.deepEqual(wordsOf(await reconcile()), words);

      const known = await writer.get({ apiVersion: CALICO_V3, kind: "IPPool", namespace: "", name: "p4" }, signal);
      assert.ok(known !== undefined);
      const spec = { ...(known.resource.spec as object), allowedUses: ["Workload"] };
      await writer.update({ ...known.resource, spec }, known.revision, signal);
      assert.ok(wordsOf(await reconcile()).includes("ipip clear"));
      const handles = (await all(writer, "IPAMHandle")).map(({ metadata }) => metadata.name);
      assert.deepEqual(handles.sort(), NODES.map((name) => `vxlan-v6-tunnel-addr-${name}`).sort());
    });
  }
});
