import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "../v1/value.ts";
import { applyDefaults } from "./defaults.ts";

function calico(kind: string, spec: unknown, metadata: object = {}): Resource {
  return { apiVersion: "projectcalico.org/v3", kind, metadata: { name: "x", ...metadata }, spec };
}

function kubernetes(apiVersion: string, kind: string, spec: unknown, metadata: object = {}): Resource {
  return { apiVersion, kind, metadata: { name: "x", ...metadata }, spec };
}

const NP = "networking.k8s.io/v1";
const RULE = { action: "Allow" };

const ROWS: readonly (readonly [what: string, input: Resource, wantSpec: unknown])[] = [
  ["a policy without rules is Ingress", calico("NetworkPolicy", {}), { tier: "default", types: ["Ingress"] }],
  [
    "a policy with ingress rules is Ingress",
    calico("GlobalNetworkPolicy", { ingress: [RULE], tier: "" }),
    { ingress: [RULE], tier: "default", types: ["Ingress"] },
  ],
  [
    "a policy with only egress rules is Egress",
    calico("StagedNetworkPolicy", { egress: [RULE], tier: "t" }),
    { egress: [RULE], tier: "t", types: ["Egress"] },
  ],
  [
    "a policy with both is both",
    calico("StagedGlobalNetworkPolicy", { ingress: [RULE], egress: [RULE] }),
    { ingress: [RULE], egress: [RULE], tier: "default", types: ["Ingress", "Egress"] },
  ],
  [
    "types that are named stay",
    calico("NetworkPolicy", { egress: [RULE], types: ["Ingress"] }),
    { egress: [RULE], types: ["Ingress"], tier: "default" },
  ],
  [
    "a staged delete gets no types",
    calico("StagedNetworkPolicy", { stagedAction: "Delete" }),
    { stagedAction: "Delete", tier: "default" },
  ],
  [
    "a Kubernetes policy without egress rules is Ingress",
    kubernetes(NP, "NetworkPolicy", { podSelector: {} }),
    { podSelector: {}, policyTypes: ["Ingress"] },
  ],
  [
    "a Kubernetes policy with egress rules is both, its ports TCP",
    kubernetes(NP, "NetworkPolicy", { egress: [{ ports: [{ port: 80 }, { protocol: "UDP" }] }] }),
    { egress: [{ ports: [{ port: 80, protocol: "TCP" }, { protocol: "UDP" }] }], policyTypes: ["Ingress", "Egress"] },
  ],
  [
    "a container port is TCP, the account default",
    kubernetes("v1", "Pod", { containers: [{ ports: [{ containerPort: 80 }] }] }),
    { containers: [{ ports: [{ containerPort: 80, protocol: "TCP" }] }], serviceAccountName: "default" },
  ],
  ["a tier is in order 1,000,000 and denies", calico("Tier", {}), { order: 1_000_000, defaultAction: "Deny" }],
  [
    "the tier kube-admin passes",
    calico("Tier", { order: null }, { name: "kube-admin" }),
    { order: 1000, defaultAction: "Pass" },
  ],
  [
    "an IPv6 pool has blocks of /122",
    calico("IPPool", { cidr: "fd00::/48", vxlanMode: "Always" }),
    {
      cidr: "fd00::/48",
      blockSize: 122,
      nodeSelector: "all()",
      ipipMode: "Never",
      vxlanMode: "Always",
      allowedUses: ["Workload", "Tunnel"],
      assignmentMode: "Automatic",
    },
  ],
  ["a spec of the wrong shape stays", calico("NetworkPolicy", "no"), "no"],
];

for (const [what, input, wantSpec] of ROWS) {
  test(`applyDefaults() fills the spec: ${what}`, () => {
    const before = structuredClone(input);
    assert.deepEqual(applyDefaults(input).spec, wantSpec);
    assert.deepEqual(input, before);
  });
}

test("applyDefaults() puts a namespaced object without a namespace into default", () => {
  assert.equal(applyDefaults(calico("NetworkPolicy", {})).metadata.namespace, "default");
  assert.equal(applyDefaults(calico("NetworkPolicy", {}, { namespace: "" })).metadata.namespace, "default");
  assert.equal(applyDefaults(calico("NetworkPolicy", {}, { namespace: "shop" })).metadata.namespace, "shop");
});

test("applyDefaults() takes the namespace off an object of a kind without one", () => {
  assert.deepEqual(applyDefaults(calico("Tier", {}, { namespace: "shop" })).metadata, { name: "x" });
});

test("applyDefaults() labels a Namespace with its name", () => {
  const namespace = applyDefaults(kubernetes("v1", "Namespace", undefined, { labels: { a: "b" } }));
  assert.deepEqual(namespace.metadata.labels, { a: "b", "kubernetes.io/metadata.name": "x" });
  assert.ok(!("spec" in namespace) || namespace.spec === undefined);
});

test("applyDefaults() labels a workload endpoint with what it is, whatever is written there", () => {
  const spec = { node: "n", orchestrator: "openstack", workload: "vm", serviceAccountName: "robot" };
  const labels = { app: "web", "projectcalico.org/namespace": "other" };
  assert.deepEqual(applyDefaults(calico("WorkloadEndpoint", spec, { namespace: "shop", labels })).metadata.labels, {
    app: "web",
    "projectcalico.org/namespace": "shop",
    "projectcalico.org/orchestrator": "openstack",
    "projectcalico.org/serviceaccount": "robot",
  });
  assert.deepEqual(applyDefaults(calico("WorkloadEndpoint", { node: "n" })).metadata.labels, {
    "projectcalico.org/namespace": "default",
  });
});

test("applyDefaults() leaves a kind that it does not know alone", () => {
  const deployment = kubernetes("apps/v1", "Deployment", { replicas: 1 });
  assert.equal(applyDefaults(deployment), deployment);
});
