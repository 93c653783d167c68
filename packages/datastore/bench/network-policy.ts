import { namespaceName, type Place, stamp, uid } from "./place.ts";

/**
 * A NetworkPolicy as an API server lists it: the pods of one app let in two peers and let out DNS and a network. About
 * 1,600 bytes of JSON, a quarter of them managed fields.
 */
export function networkPolicy(n: number, place: Place): object {
  const { namespace, app, revision } = place;
  const peer = namespaceName(n * 31);
  return {
    metadata: {
      name: `${app}-${n}`,
      namespace,
      uid: uid(n + 2e6),
      resourceVersion: String(revision),
      generation: 1,
      creationTimestamp: stamp(n),
      labels: { "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/part-of": namespace },
      annotations: { "meta.helm.sh/release-name": app, "meta.helm.sh/release-namespace": namespace },
      managedFields: [
        {
          manager: "helm",
          operation: "Update",
          apiVersion: "networking.k8s.io/v1",
          time: stamp(n),
          fieldsType: "FieldsV1",
          fieldsV1: {
            "f:metadata": {
              "f:annotations": { ".": {}, "f:meta.helm.sh/release-name": {}, "f:meta.helm.sh/release-namespace": {} },
              "f:labels": { ".": {}, "f:app.kubernetes.io/managed-by": {}, "f:app.kubernetes.io/part-of": {} },
            },
            "f:spec": { "f:egress": {}, "f:ingress": {}, "f:podSelector": {}, "f:policyTypes": {} },
          },
        },
      ],
    },
    spec: {
      podSelector: { matchLabels: { app, version: `v${n % 5}` } },
      ingress: [
        {
          from: [
            { podSelector: { matchLabels: { tier: "frontend" } } },
            {
              namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": peer } },
              podSelector: { matchExpressions: [{ key: "app", operator: "In", values: ["gateway-4", "search-3"] }] },
            },
          ],
          ports: [
            { protocol: "TCP", port: 8080 },
            { protocol: "TCP", port: "metrics" },
          ],
        },
      ],
      egress: [
        {
          to: [
            {
              namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
              podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
            },
          ],
          ports: [
            { protocol: "UDP", port: 53 },
            { protocol: "TCP", port: 53 },
          ],
        },
        {
          to: [{ ipBlock: { cidr: `10.${n % 250}.0.0/16`, except: [`10.${n % 250}.7.0/24`] } }],
          ports: [{ protocol: "TCP", port: 5432, endPort: 5439 }],
        },
      ],
      policyTypes: ["Ingress", "Egress"],
    },
  };
}
