import type { ResourceId } from "@bulrush/datastore";
import { CALICO_V3, type PolicyKey, type PolicyKind, type Resource } from "@bulrush/model";

/** What the author of each kind of policy writes. */
const WRITTEN: Readonly<Record<PolicyKind, Pick<Resource, "apiVersion" | "kind">>> = {
  NetworkPolicy: { apiVersion: CALICO_V3, kind: "NetworkPolicy" },
  GlobalNetworkPolicy: { apiVersion: CALICO_V3, kind: "GlobalNetworkPolicy" },
  StagedNetworkPolicy: { apiVersion: CALICO_V3, kind: "StagedNetworkPolicy" },
  StagedGlobalNetworkPolicy: { apiVersion: CALICO_V3, kind: "StagedGlobalNetworkPolicy" },
  StagedKubernetesNetworkPolicy: { apiVersion: CALICO_V3, kind: "StagedKubernetesNetworkPolicy" },
  KubernetesNetworkPolicy: { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy" },
  KubernetesClusterNetworkPolicy: { apiVersion: "policy.networking.k8s.io/v1alpha2", kind: "ClusterNetworkPolicy" },
};

const KINDS: ReadonlyMap<string, PolicyKind> = new Map(
  (Object.keys(WRITTEN) as PolicyKind[]).map((kind) => [`${WRITTEN[kind].apiVersion} ${WRITTEN[kind].kind}`, kind]),
);

const CALICO_KINDS: ReadonlySet<PolicyKind> = new Set([
  "NetworkPolicy",
  "GlobalNetworkPolicy",
  "StagedNetworkPolicy",
  "StagedGlobalNetworkPolicy",
]);

/** True for the kinds whose rules are Calico's: written and v1 rules are one to one. */
export function isCalicoKind(kind: PolicyKind): boolean {
  return CALICO_KINDS.has(kind);
}

/** The v1 key of a policy; undefined for another kind. */
export function policyKeyOf({ apiVersion, kind: written, metadata }: Resource): PolicyKey | undefined {
  const kind = KINDS.get(`${apiVersion} ${written}`);
  if (kind === undefined) return undefined;
  const { name, namespace = "" } = metadata;
  return { type: "Policy", kind, namespace, name };
}

/** The resource of a policy that an explanation names (`kind/namespace/name`, `kind/name`); undefined for no policy. */
export function policyIdOf(text: string): ResourceId | undefined {
  const [kind = "", ...rest] = text.split("/");
  if (!Object.hasOwn(WRITTEN, kind) || rest.length < 1 || rest.length > 2) return undefined;
  const [name = "", namespace = ""] = rest.toReversed();
  return { ...WRITTEN[kind as PolicyKind], namespace, name };
}
