import assert from "node:assert/strict";
import { test } from "node:test";
import { DATASTORE_KINDS, type DatastoreKind } from "../driver/kind.ts";
import { keyOf, type Place, placeOf, rangeOf } from "./key-layout.ts";

const V3 = "/calico/resources/v3/projectcalico.org";

const KEYS: readonly (readonly [DatastoreKind, Place, key: string, spec?: object])[] = [
  ["ClusterInformation", { namespace: "", name: "default" }, `${V3}/clusterinformations/default`],
  ["FelixConfiguration", { namespace: "", name: "node.h1" }, `${V3}/felixconfigurations/node.h1`],
  ["GlobalNetworkPolicy", { namespace: "", name: "g" }, `${V3}/globalnetworkpolicies/g`],
  ["StagedGlobalNetworkPolicy", { namespace: "", name: "g" }, `${V3}/stagedglobalnetworkpolicies/g`],
  ["NetworkPolicy", { namespace: "ns", name: "knp.default.x" }, `${V3}/networkpolicies/ns/knp.default.x`],
  ["StagedNetworkPolicy", { namespace: "ns", name: "p" }, `${V3}/stagednetworkpolicies/ns/p`],
  ["StagedKubernetesNetworkPolicy", { namespace: "ns", name: "p" }, `${V3}/stagedkubernetesnetworkpolicies/ns/p`],
  ["Tier", { namespace: "", name: "kube-admin" }, `${V3}/tiers/kube-admin`],
  ["GlobalNetworkSet", { namespace: "", name: "s" }, `${V3}/globalnetworksets/s`],
  ["NetworkSet", { namespace: "ns", name: "s" }, `${V3}/networksets/ns/s`],
  ["IPPool", { namespace: "", name: "p" }, `${V3}/ippools/p`],
  ["HostEndpoint", { namespace: "", name: "h" }, `${V3}/hostendpoints/h`],
  ["Node", { namespace: "", name: "n" }, `${V3}/nodes/n`],
  ["Profile", { namespace: "", name: "kns.default" }, `${V3}/profiles/kns.default`],
  [
    "WorkloadEndpoint",
    { namespace: "ns", name: "node--1-k8s-pod--name-eth0" },
    `${V3}/workloadendpoints/ns/node--1-k8s-pod--name-eth0`,
  ],
  ["BGPConfiguration", { namespace: "", name: "default" }, `${V3}/bgpconfigurations/default`],
  ["BGPPeer", { namespace: "", name: "p" }, `${V3}/bgppeers/p`],
  ["BGPFilter", { namespace: "", name: "f" }, `${V3}/bgpfilters/f`],
  ["CalicoNodeStatus", { namespace: "", name: "s" }, `${V3}/caliconodestatuses/s`],
  ["IPReservation", { namespace: "", name: "r" }, `${V3}/ipreservations/r`],
  ["LiveMigration", { namespace: "ns", name: "m" }, `${V3}/livemigrations/ns/m`],
  ["KubeControllersConfiguration", { namespace: "", name: "default" }, `${V3}/kubecontrollersconfigurations/default`],
  ["IPAMBlock", { namespace: "", name: "10-0-0-0-26" }, "/calico/ipam/v2/assignment/ipv4/block/10.0.0.0-26"],
  ["IPAMBlock", { namespace: "", name: "fd00-10---122" }, "/calico/ipam/v2/assignment/ipv6/block/fd00:10::-122"],
  [
    "BlockAffinity",
    { namespace: "", name: "n-1-10-0-0-0-26" },
    "/calico/ipam/v2/host/n-1/ipv4/block/10.0.0.0-26",
    { node: "n-1", cidr: "10.0.0.0/26", type: "host" },
  ],
  [
    "BlockAffinity",
    { namespace: "", name: "lb-fd00---122" },
    "/calico/ipam/v2/virtual/lb/ipv6/block/fd00::-122",
    { node: "lb", cidr: "fd00::/122", type: "virtual" },
  ],
  ["IPAMHandle", { namespace: "", name: "ipip-tunnel-addr-n1" }, "/calico/ipam/v2/handle/ipip-tunnel-addr-n1"],
  ["IPAMConfig", { namespace: "", name: "default" }, "/calico/ipam/v2/config"],
];

for (const [kind, place, key, spec = {}] of KEYS) {
  test(`keyOf() and placeOf() of ${key}`, () => {
    assert.equal(keyOf(kind, place, spec), key);
    assert.deepEqual(placeOf(kind, key), place);
    const range = rangeOf(kind);
    assert.ok(range !== undefined);
    const isInRange = range.end === undefined ? key === range.key : key >= range.key && key < range.end;
    assert.ok(isInRange, `${key} is in ${range.key} to ${range.end}`);
  });
}

test("every kind of ours has a key but those that live only in Kubernetes", () => {
  const covered = new Set(KEYS.map(([kind]) => kind));
  for (const kind of DATASTORE_KINDS) {
    const isOfKubernetes = kind.startsWith("Kubernetes");
    assert.equal(rangeOf(kind) === undefined, isOfKubernetes, kind);
    assert.equal(covered.has(kind), !isOfKubernetes, kind);
  }
});

test("rangeOf() narrows to a namespace and to a name", () => {
  const policies = `${V3}/networkpolicies`;
  assert.deepEqual(rangeOf("NetworkPolicy"), { key: `${policies}/`, end: `${policies}0` });
  assert.deepEqual(rangeOf("NetworkPolicy", { namespace: "a" }), { key: `${policies}/a/`, end: `${policies}/a0` });
  assert.deepEqual(rangeOf("NetworkPolicy", { namespace: "a", name: "b" }), { key: `${policies}/a/b`, end: undefined });
  assert.deepEqual(rangeOf("Node", { name: "n" }), { key: `${V3}/nodes/n`, end: undefined });
});

const FOREIGN: readonly (readonly [DatastoreKind, string])[] = [
  ["NetworkPolicy", `${V3}/networkpolicies/only-one-part`],
  ["NetworkPolicy", `${V3}/networkpolicies//x`],
  ["NetworkPolicy", `${V3}/networkpolicies/a/`],
  ["NetworkPolicy", `${V3}/networkpolicies/a/b/c`],
  ["Node", `${V3}/nodes/`],
  ["Node", `${V3}/nodes/a/b`],
  ["Node", `${V3}/tiers/a`],
  ["IPAMBlock", "/calico/ipam/v2/assignment/ipv4/block/gumbo"],
  ["IPAMBlock", "/calico/ipam/v2/assignment/ipv6/block/10.0.0.0-26"],
  ["BlockAffinity", "/calico/ipam/v2/host/n/ipv4/block/"],
  ["IPAMHandle", "/calico/ipam/v2/handle/a/b"],
  ["IPAMConfig", "/calico/ipam/v2/configs"],
];

for (const [kind, key] of FOREIGN) {
  test(`placeOf() finds no ${kind} in ${key}`, () => assert.equal(placeOf(kind, key), undefined));
}

test("keyOf() makes no key of a name that would be another's", () => {
  assert.equal(keyOf("Node", { namespace: "", name: "a/b" }, {}), undefined);
  assert.equal(keyOf("Node", { namespace: "", name: "" }, {}), undefined);
  assert.equal(keyOf("NetworkPolicy", { namespace: "a/b", name: "c" }, {}), undefined);
  assert.equal(keyOf("BlockAffinity", { namespace: "", name: "x" }, { node: "a/b", cidr: "10.0.0.0/26" }), undefined);
  assert.equal(keyOf("BlockAffinity", { namespace: "", name: "x" }, {}), undefined);
  assert.equal(keyOf("IPAMConfig", { namespace: "", name: "other" }, {}), undefined);
});
