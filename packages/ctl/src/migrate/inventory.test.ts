import assert from "node:assert/strict";
import { test } from "node:test";
import { CALICO_V3, type Resource } from "@bulrush/model";
import { copyFor } from "./inventory.ts";

function resource(kind: string, name: string, spec: object = {}, apiVersion: string = CALICO_V3): Resource {
  return { apiVersion, kind, metadata: { name }, spec };
}

const rows: readonly [title: string, resource: Resource, inKubernetes: string | undefined, elsewhere: string][] = [
  ["a policy", resource("NetworkPolicy", "web"), "web", "web"],
  ["a policy made from Kubernetes' own", resource("NetworkPolicy", "knp.default.web"), undefined, "knp.default.web"],
  ["a profile", resource("Profile", "mine"), "mine", "mine"],
  ["the profile of a namespace", resource("Profile", "kns.shop"), undefined, "kns.shop"],
  ["the profile of a service account", resource("Profile", "ksa.shop.web"), undefined, "ksa.shop.web"],
  ["a workload", resource("WorkloadEndpoint", "n-k8s-p-eth0"), undefined, "n-k8s-p-eth0"],
  ["a node", resource("Node", "n1"), "n1", "n1"],
  [
    "a node with another name in Kubernetes",
    resource("Node", "n1", { orchRefs: [{ orchestrator: "x" }, { orchestrator: "k8s", nodeName: "ip-10-0-0-1" }] }),
    "ip-10-0-0-1",
    "n1",
  ],
];
for (const [title, original, inKubernetes, elsewhere] of rows) {
  test(`copyFor() copies ${title}`, () => {
    assert.equal(copyFor(original, "kubernetes")?.metadata.name, inKubernetes);
    for (const type of ["file", "etcdv3"] as const) assert.equal(copyFor(original, type)?.metadata.name, elsewhere);
  });
}

test("copyFor() leaves out the profile that every driver makes", () => {
  for (const type of ["file", "etcdv3", "kubernetes"] as const)
    assert.equal(copyFor(resource("Profile", "projectcalico-default-allow"), type), undefined);
});

test("copyFor() leaves out what the source counts", () => {
  const metadata = { name: "t", uid: "u", resourceVersion: "5", creationTimestamp: "x", labels: { a: "b" } };
  const original = { ...resource("Tier", "t"), metadata, status: { x: 1 } };
  assert.deepEqual(copyFor(original, "etcdv3"), {
    ...resource("Tier", "t"),
    metadata: { name: "t", labels: { a: "b" } },
  });
});

test("copyFor() names a handle as the target does: by its id, in Kubernetes in lower case", () => {
  const inEtcd = resource("IPAMHandle", "vxlan-Node_1", { handleID: "vxlan-Node_1" });
  const inKubernetes = resource("IPAMHandle", "vxlan-node_1", { handleID: "vxlan-Node_1" });
  for (const original of [inEtcd, inKubernetes]) {
    assert.deepEqual(copyFor(original, "kubernetes"), inKubernetes);
    assert.deepEqual(copyFor(original, "etcdv3"), inEtcd);
  }
  assert.deepEqual(copyFor(resource("IPAMHandle", "x", { handleID: "y" }), "etcdv3")?.metadata.name, "x");
});
