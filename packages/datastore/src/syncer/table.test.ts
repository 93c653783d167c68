import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SyncerType } from "@bulrush/model";
import type { DatastoreDriver } from "../driver/driver.ts";
import { kindsOf } from "./table.ts";

const FELIX = `ClusterInformation FelixConfiguration GlobalNetworkPolicy StagedGlobalNetworkPolicy NetworkPolicy
StagedNetworkPolicy StagedKubernetesNetworkPolicy Tier GlobalNetworkSet NetworkSet IPPool HostEndpoint Node Profile
WorkloadEndpoint BGPConfiguration BGPPeer LiveMigration`;
/** In etcd a controller has copied these into Calico's own kinds. */
const NATIVE = "KubernetesNetworkPolicy KubernetesClusterNetworkPolicy KubernetesEndpointSlice KubernetesService";
const BGP = "IPPool BGPConfiguration Node BGPPeer BGPFilter";

interface Row {
  readonly type: SyncerType;
  readonly driver: DatastoreDriver["type"];
  readonly usePodCIDR: boolean;
  readonly kinds: string;
}

const ROWS: readonly Row[] = [
  { type: "felix", driver: "kubernetes", usePodCIDR: false, kinds: `${FELIX} ${NATIVE} IPAMBlock` },
  { type: "felix", driver: "kubernetes", usePodCIDR: true, kinds: `${FELIX} ${NATIVE}` },
  { type: "felix", driver: "file", usePodCIDR: false, kinds: `${FELIX} ${NATIVE} IPAMBlock` },
  { type: "felix", driver: "etcdv3", usePodCIDR: false, kinds: `${FELIX} IPAMBlock` },
  { type: "felix", driver: "etcdv3", usePodCIDR: true, kinds: FELIX },
  { type: "bgp", driver: "kubernetes", usePodCIDR: false, kinds: `${BGP} BlockAffinity` },
  { type: "bgp", driver: "kubernetes", usePodCIDR: true, kinds: BGP },
  { type: "bgp", driver: "etcdv3", usePodCIDR: false, kinds: `${BGP} BlockAffinity` },
  { type: "tunnel-ip-allocation", driver: "kubernetes", usePodCIDR: false, kinds: "IPPool Node" },
  { type: "tunnel-ip-allocation", driver: "etcdv3", usePodCIDR: true, kinds: "IPPool Node" },
  { type: "node-status", driver: "kubernetes", usePodCIDR: false, kinds: "CalicoNodeStatus" },
  { type: "node-status", driver: "etcdv3", usePodCIDR: false, kinds: "CalicoNodeStatus" },
];

describe("kindsOf()", () => {
  for (const { type, driver, usePodCIDR, kinds } of ROWS) {
    test(`has the kinds of ${type} on ${driver}${usePodCIDR ? " with pod CIDRs" : ""}, each once`, () => {
      const found = kindsOf(type, driver, { usePodCIDR, nodeName: "" }).map(({ kind }) => kind);
      assert.deepEqual(found.sort(), kinds.split(/\s+/).sort());
    });
  }

  test("gives each stream a processor of its own", () => {
    const options = { usePodCIDR: false, nodeName: "" };
    const processors = (["felix", "bgp", "tunnel-ip-allocation", "felix"] as const).flatMap((type) =>
      kindsOf(type, "kubernetes", options).map(({ processor }) => processor),
    );
    assert.equal(new Set(processors).size, processors.length);
  });

  test("holds the tunnel allocator of a node to that node, and the others to none", () => {
    for (const nodeName of ["", "n1"]) {
      const names = kindsOf("tunnel-ip-allocation", "etcdv3", { usePodCIDR: false, nodeName }).map(({ name }) => name);
      assert.deepEqual(names, [undefined, nodeName === "" ? undefined : nodeName]);
      assert.ok(kindsOf("bgp", "etcdv3", { usePodCIDR: false, nodeName }).every(({ name }) => name === undefined));
    }
  });

  test("sends a node whole to bgp and to the allocator, and in parts to felix", () => {
    const value = { apiVersion: "projectcalico.org/v3", kind: "Node", metadata: { name: "n" }, spec: {} };
    const item = { kind: "Node", namespace: "", name: "n" } as const;
    const keys = (type: SyncerType): readonly string[] => {
      const node = kindsOf(type, "kubernetes", { usePodCIDR: false, nodeName: "" }).find(({ kind }) => kind === "Node");
      assert.ok(node);
      return node.processor.process({ item, value, revision: "1" }).outputs.map(({ key }) => key.type);
    };
    assert.deepEqual(keys("bgp"), ["Resource"]);
    assert.deepEqual(keys("tunnel-ip-allocation"), ["Resource"]);
    assert.deepEqual(keys("felix").toSorted(), [...Array<string>(5).fill("HostConfig"), "Resource", "Wireguard"]);
  });
});
