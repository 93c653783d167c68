import type { KubeAdmin } from "../kube/kube-admin.ts";

const NATIVE: readonly (readonly [group: string, resources: readonly string[]])[] = [
  ["", ["pods", "nodes", "namespaces", "serviceaccounts", "services"]],
  ["networking.k8s.io", ["networkpolicies"]],
  ["discovery.k8s.io", ["endpointslices"]],
  ["policy.networking.k8s.io", ["clusternetworkpolicies"]],
  ["kubevirt.io", ["virtualmachineinstancemigrations"]],
];

const CALICO: readonly string[] = [
  "bgpconfigurations",
  "bgpfilters",
  "bgppeers",
  "blockaffinities",
  "caliconodestatuses",
  "clusterinformations",
  "felixconfigurations",
  "globalnetworkpolicies",
  "globalnetworksets",
  "hostendpoints",
  "ipamblocks",
  "ippools",
  "ipreservations",
  "networkpolicies",
  "networksets",
  "stagedglobalnetworkpolicies",
  "stagedkubernetesnetworkpolicies",
  "stagednetworkpolicies",
  "tiers",
];

/**
 * A service account that may get, list and watch what the driver reads, but for the plurals in `without`. Returns a
 * token of it.
 */
export async function createReader(
  admin: KubeAdmin,
  { without = [] }: { readonly without?: readonly string[] } = {},
): Promise<string> {
  const rules = [...NATIVE, ["crd.projectcalico.org", CALICO] as const, ["projectcalico.org", CALICO] as const].map(
    ([group, resources]) => ({
      apiGroups: [group],
      resources: resources.filter((plural) => !without.includes(plural)),
      verbs: ["get", "list", "watch"],
    }),
  );
  const name = "reader";
  const rbac = "rbac.authorization.k8s.io";
  await admin.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: "default" } });
  await admin.create({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name }, rules });
  await admin.create({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
  });
  return admin.tokenOf("default", name);
}
