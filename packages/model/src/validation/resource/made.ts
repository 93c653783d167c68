import type { Resource } from "../../v1/value.ts";

/** Whole resources from the few words that a test has to say. For the tests of this folder. */
const API: Readonly<Record<string, string>> = {
  KubernetesNetworkPolicy: "networking.k8s.io/v1",
  ClusterNetworkPolicy: "policy.networking.k8s.io/v1alpha2",
  EndpointSlice: "discovery.k8s.io/v1",
  KubernetesNode: "v1",
  Namespace: "v1",
  Pod: "v1",
  Service: "v1",
  ServiceAccount: "v1",
};

/** A resource of `kind` (Kubernetes' own kinds of a shared name begin with "Kubernetes") with this spec. */
export function made(kind: string, spec: unknown, over: object = {}): Resource {
  return {
    apiVersion: API[kind] ?? "projectcalico.org/v3",
    kind: kind.replace(/^Kubernetes/, ""),
    metadata: { name: "a" },
    spec,
    ...over,
  } as Resource;
}

/** {@link made} with a name and no spec. */
export function named(kind: string, name: string, metadata: object = {}): Resource {
  return made(kind, undefined, { metadata: { name, ...metadata } });
}
