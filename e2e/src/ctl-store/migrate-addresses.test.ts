/** Address management moves from a real etcd into a real Kubernetes API, in either group of Calico's, and back. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CALICO_CRD_V1, CALICO_V3 } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { runCtl } from "./run-ctl.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");
const IPAM = "/calico/ipam/v2";

/** As Calico's own client stores them: bare values, of which part is in the key. */
const STORED: ReadonlyMap<string, object> = new Map<string, object>([
  [
    `${IPAM}/assignment/ipv4/block/10.1.0.0-30`,
    {
      cidr: "10.1.0.0/30",
      affinity: "host:n1",
      allocations: [0, null, 1, null],
      unallocated: [1, 3],
      attributes: [
        { handle_id: "k8s-pod-network.0a1b", secondary: { node: "n1", pod: "web" } },
        { handle_id: null, secondary: null, releasedAt: "2026-01-01T00:00:00Z" },
      ],
      sequenceNumber: 1_700_000_000_000_001,
      sequenceNumberForAllocation: { "0": 1_700_000_000_000_001 },
      deleted: false,
      strictAffinity: false,
    },
  ],
  [
    `${IPAM}/assignment/ipv6/block/fd00:10::-126`,
    { cidr: "fd00:10::/126", affinity: null, allocations: [null, null, null, null], unallocated: [], attributes: [] },
  ],
  [`${IPAM}/host/n1/ipv4/block/10.1.0.0-30`, { state: "confirmed" }],
  [`${IPAM}/host/n2/ipv4/block/10.1.0.4-30`, { state: "pendingDeletion", deleted: true }],
  [`${IPAM}/virtual/load-balancer/ipv6/block/fd00:10::-126`, { state: "pending" }],
  [`${IPAM}/handle/k8s-pod-network.0a1b`, { block: { "10.1.0.0/30": 1 } }],
  [`${IPAM}/handle/vxlan-tunnel-addr-Node-A`, { block: { "10.1.0.0/30": 1 }, deleted: true }],
  [`${IPAM}/config`, { strict_affinity: true, auto_allocate_blocks: true, maxBlocksPerHost: 20 }],
]);

async function stored(etcd: EtcdServer): Promise<ReadonlyMap<string, unknown>> {
  const { kvs = [] } = JSON.parse(await etcd.ctl("get", IPAM, "--prefix", "-w", "json")) as {
    kvs?: readonly { readonly key: string; readonly value: string }[];
  };
  const text = (base64: string): string => Buffer.from(base64, "base64").toString("utf8");
  return new Map(kvs.map(({ key, value }) => [text(key), JSON.parse(text(value)) as unknown]));
}

describe("bulrushctl migrate with the kinds of address management", { skip: skipWithoutKube() }, () => {
  let kube: KubeServer;
  const etcds: EtcdServer[] = [];
  before(async () => {
    kube = await KubeServer.start();
  });
  after(async () => {
    for (const etcd of etcds) await etcd.stop();
    await kube.stop();
  });

  const startEtcd = async (): Promise<EtcdServer> => {
    const etcd = await EtcdServer.start();
    etcds.push(etcd);
    return etcd;
  };
  const groups = [
    [CALICO_CRD_V1, "crd.projectcalico.org", { n1: "false", n2: "true", "load-balancer": "false" }],
    [CALICO_V3, "projectcalico.org", { n1: undefined, n2: true, "load-balancer": undefined }],
  ] as const;

  for (const [apiVersion, directory, deleted] of groups) {
    test(`etcd to ${apiVersion} and back is what it was`, async () => {
      await kube.admin.installCrds(join(CRDS, directory));
      const [from, back] = [await startEtcd(), await startEtcd()];
      for (const [key, value] of STORED) await from.ctl("put", key, JSON.stringify(value));
      const env = { KUBECONFIG: kube.kubeconfig, CALICO_API_GROUP: apiVersion };
      const migrate = async (source: string, target: string, etcd: EtcdServer): Promise<void> => {
        const args = ["migrate", "--from", source, "--to", target, "-o", "json"];
        const { code, err, out } = await runCtl(args, { ...env, ETCD_ENDPOINTS: etcd.endpoint });
        assert.equal(code, 0, err);
        assert.deepEqual((JSON.parse(out) as { different: unknown }).different, []);
      };
      await migrate("etcdv3", "kubernetes", from);
      const affinities = await kube.admin.list(apiVersion, "BlockAffinity");
      const flags = affinities.map(({ spec }) => spec as { readonly node: string; readonly deleted?: unknown });
      assert.deepEqual(Object.fromEntries(flags.map((spec) => [spec.node, spec.deleted])), deleted);
      await migrate("kubernetes", "etcdv3", back);
      assert.deepEqual(await stored(back), STORED);
    });
  }
});
