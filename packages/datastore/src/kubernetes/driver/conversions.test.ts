import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "../../driver/driver.ts";
import type { DatastoreKind } from "../../driver/kind.ts";
import { driverFixture, listAll } from "../testing/driver-fixture.ts";
import type { StoredObject } from "../testing/fake-objects.ts";

/**
 * What objects of the API server become, as the driver gives them. The conversions have tests of their own; this says
 * that nothing on the way to them changes the outcome, by list and by watch.
 */
type Row = readonly [what: string, object: StoredObject, want: (item: Item | undefined) => unknown, is: unknown];

const CNI = "cni.projectcalico.org";

function pod(fields: {
  readonly annotations?: object;
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}): StoredObject {
  const { annotations, metadata, spec, status } = fields;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "n", ...(annotations !== undefined && { annotations }), ...metadata },
    spec: { nodeName: "node-1", containers: [], ...spec },
    status: { phase: "Running", ...status },
  };
}

const specOf = (item: Item | undefined): Readonly<Record<string, unknown>> =>
  (item?.value?.spec ?? {}) as Readonly<Record<string, unknown>>;
const ips = (item: Item | undefined): unknown => specOf(item)["ipNetworks"];

const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z" };

const PODS: readonly Row[] = [
  ["podIP", pod({ status: { podIP: "192.168.0.1" } }), ips, ["192.168.0.1/32"]],
  [
    "podIPs in the annotation",
    pod({ annotations: { [`${CNI}/podIPs`]: "192.168.0.1/32,fd5f:8067::1/128" } }),
    ips,
    ["192.168.0.1/32", "fd5f:8067::1/128"],
  ],
  [
    "status before annotation",
    pod({ status: { podIP: "192.168.0.2" }, annotations: { [`${CNI}/podIP`]: "192.168.0.1/32" } }),
    ips,
    ["192.168.0.2/32"],
  ],
  [
    "terminating, blank annotation",
    pod({ status: { podIP: "192.168.0.2" }, annotations: { [`${CNI}/podIP`]: "" }, metadata: deleting }),
    ips,
    [],
  ],
  [
    "terminating, no annotation",
    pod({ status: { podIP: "192.168.0.2" }, metadata: deleting }),
    ips,
    ["192.168.0.2/32"],
  ],
  ["Succeeded", pod({ status: { phase: "Succeeded", podIP: "192.168.0.2" } }), ips, []],
  ["Failed", pod({ status: { phase: "Failed", podIP: "192.168.0.2" } }), ips, []],
  ["Pending with an address", pod({ status: { phase: "Pending", podIP: "192.168.0.2" } }), ips, ["192.168.0.2/32"]],
  ["Unknown with an address", pod({ status: { phase: "Unknown", podIP: "192.168.0.2" } }), ips, ["192.168.0.2/32"]],
  ["scheduled without an address", pod({}), ips, []],
  ["on the host's network", pod({ spec: { hostNetwork: true } }), (item) => item, undefined],
  ["on no node", pod({ spec: { nodeName: "" } }), (item) => item, undefined],
  [
    "the interface and the profiles",
    pod({ metadata: { name: "podA", namespace: "default" }, spec: { serviceAccountName: "test.foo" } }),
    (item) => [specOf(item)["interfaceName"], specOf(item)["profiles"]],
    ["cali7f94ce7c295", ["kns.default", "ksa.default.test.foo"]],
  ],
  [
    "floating addresses",
    pod({
      status: { podIPs: [{ ip: "192.168.0.1" }, { ip: "fd5f:8067::1" }] },
      annotations: { [`${CNI}/floatingIPs`]: '["1.1.1.1","fd80:100:100::10"]' },
    }),
    (item) => specOf(item)["ipNATs"],
    [
      { internalIP: "192.168.0.1", externalIP: "1.1.1.1" },
      { internalIP: "fd5f:8067::1", externalIP: "fd80:100:100::10" },
    ],
  ],
  [
    "bad source prefixes",
    pod({ annotations: { [`${CNI}/allowedSourcePrefixes`]: '["gumbo"]' } }),
    (item) => [item?.value, item?.issues?.[0]?.severity],
    [undefined, "error"],
  ],
];

function policy(spec: object): StoredObject {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "test.policy", namespace: "n" },
    spec,
  };
}

const ORCHESTRATOR = "projectcalico.org/orchestrator == 'k8s'";

const POLICIES: readonly Row[] = [
  [
    "an empty selector",
    policy({ podSelector: {} }),
    (item) => [
      item?.name,
      specOf(item)["selector"],
      specOf(item)["types"],
      specOf(item)["tier"],
      specOf(item)["order"],
    ],
    ["test.policy", ORCHESTRATOR, ["Ingress"], "default", 1000],
  ],
  [
    "a bad block of addresses",
    policy({ podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: "/55" } }] }] }),
    (item) => [specOf(item)["ingress"], item?.issues?.[0]?.field],
    [[], "spec.ingress[0].from[0].ipBlock.cidr"],
  ],
  [
    "both types in order",
    policy({ podSelector: {}, policyTypes: ["Egress", "Ingress"] }),
    (item) => specOf(item)["types"],
    ["Ingress", "Egress"],
  ],
];

const CLUSTER_POLICIES: readonly Row[] = [
  [
    "an unknown tier",
    {
      apiVersion: "policy.networking.k8s.io/v1alpha2",
      kind: "ClusterNetworkPolicy",
      metadata: { name: "c" },
      spec: { tier: "bogus", priority: 1, subject: { namespaces: {} } },
    },
    (item) => [item?.name, item?.value],
    ["c", undefined],
  ],
];

const NODES: readonly Row[] = [
  [
    "the Calico fields in annotations",
    {
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name: "node-1",
        labels: { zone: "a" },
        annotations: { "projectcalico.org/IPv4Address": "10.0.0.1/24", "projectcalico.org/labels": '{"rack":"r"}' },
      },
      spec: { podCIDR: "10.1.2.0/24" },
    },
    (item) => [(specOf(item)["bgp"] as { readonly ipv4Address?: unknown }).ipv4Address, item?.value?.metadata.labels],
    ["10.0.0.1/24", { rack: "r", zone: "a" }],
  ],
];

const ALL: readonly (readonly [kind: DatastoreKind, rows: readonly Row[]])[] = [
  ["WorkloadEndpoint", PODS],
  ["KubernetesNetworkPolicy", POLICIES],
  ["KubernetesClusterNetworkPolicy", CLUSTER_POLICIES],
  ["Node", NODES],
];

for (const [kind, rows] of ALL) {
  for (const [what, object, want, is] of rows) {
    test(`${kind} of ${what} is the same by list and by watch`, async (t) => {
      const { server, driver } = await driverFixture(t);
      const { signal } = new AbortController();
      const stream = await driver.watch({ kind, revision: String(server.objects.revision), signal });
      server.put(object);
      const [event] = (await stream.next()) ?? [];
      const watched = event?.type === "added" ? event.item : undefined;
      const [listed] = (await listAll(driver, kind)).items;
      assert.deepEqual(want(listed), is);
      assert.deepEqual(watched, listed);
    });
  }
}

test("with usePodCIDR a node's tunnel address comes from its pod CIDR", async (t) => {
  const { server, driver } = await driverFixture(t, { usePodCIDR: true });
  server.put({ apiVersion: "v1", kind: "Node", metadata: { name: "n" }, spec: { podCIDR: "10.1.2.0/24" } });
  const [item] = (await listAll(driver, "Node")).items;
  assert.deepEqual(specOf(item)["bgp"], { ipv4IPIPTunnelAddr: "10.1.2.1" });
});

test("the first of several interface prefixes names the interfaces", async (t) => {
  const { server, driver } = await driverFixture(t, { interfacePrefix: "eni,veth,foo" });
  server.put(pod({ metadata: { name: "podname", namespace: "namespace" } }));
  const [item] = (await listAll(driver, "WorkloadEndpoint")).items;
  assert.equal(specOf(item)["interfaceName"], "eni82111e10a96");
});
