import type { WarningCode } from "../warning.ts";

/**
 * Manifests, the warning that they are about, and the field that it names; undefined: the near miss, of which nothing
 * is said.
 */
export type LintRow = readonly [
  title: string,
  code: WarningCode,
  objects: readonly object[],
  field: string | undefined,
];

export const V3 = "projectcalico.org/v3";

export function gnp(name: string, spec: object): object {
  return { apiVersion: V3, kind: "GlobalNetworkPolicy", metadata: { name }, spec };
}

export function np(name: string, spec: object, namespace = "shop"): object {
  return { apiVersion: V3, kind: "NetworkPolicy", metadata: { name, namespace }, spec };
}

export function knp(spec: object, name = "k"): object {
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name, namespace: "shop" }, spec };
}

export function cnp(spec: object): object {
  const kind = "ClusterNetworkPolicy";
  return { apiVersion: "policy.networking.k8s.io/v1alpha2", kind, metadata: { name: "c" }, spec };
}

export function tier(name: string, defaultAction: string): object {
  return { apiVersion: V3, kind: "Tier", metadata: { name }, spec: { order: 5, defaultAction } };
}

export function pool(name: string, cidr: string): object {
  return { apiVersion: V3, kind: "IPPool", metadata: { name }, spec: { cidr } };
}

export function set(nets: string[], labels: object = {}): object {
  return { apiVersion: V3, kind: "GlobalNetworkSet", metadata: { name: "set", labels }, spec: { nets } };
}

export const SHOP: object = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "shop", labels: { team: "shop" } },
};

export function pod(name: string, labels: object, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop", labels },
    spec: { containers: [{ name: "c", ports: [{ name: "http", containerPort: 80 }] }], ...spec },
  };
}

export const WEB: object = pod("web", { app: "web" });
const DB: object = pod("db", { app: "db" });
const AGENT: object = pod("agent", { app: "agent" }, { hostNetwork: true });
export const PODS: readonly object[] = [SHOP, WEB, DB, AGENT];

export const allow: object = { action: "Allow" };
export const denyTcp: object = { action: "Deny", protocol: "TCP" };
export const web: string = "app == 'web'";
