import { portNumber } from "./common.ts";
import { deletesOnly, directions, stagedAction } from "./policy.ts";
import { integer, integerOrText, listOf, mapOf, object, type ObjectShape, oneOf, type Shape, text } from "./shape.ts";

const PROTOCOLS = ["TCP", "UDP", "SCTP"] as const;

/** A label selector of Kubernetes. */
const labelSelector: ObjectShape = object({
  matchLabels: mapOf(text()),
  matchExpressions: listOf(
    object(
      { key: text(), operator: oneOf(["In", "NotIn", "Exists", "DoesNotExist"]), values: listOf(text()) },
      { required: ["key", "operator"] },
    ),
  ),
});

const ports = listOf(
  object({
    protocol: oneOf(PROTOCOLS, { about: "Default: TCP." }),
    port: integerOrText(),
    endPort: integer(1, 65_535),
  }),
);

const peer = object({
  podSelector: labelSelector,
  namespaceSelector: labelSelector,
  ipBlock: object(
    { cidr: text({ formats: ["cidr"] }), except: listOf(text({ formats: ["cidr"] })) },
    { required: ["cidr"] },
  ),
});

const FIELDS: Readonly<Record<string, Shape>> = {
  podSelector: labelSelector,
  policyTypes: directions,
  ingress: listOf(object({ from: listOf(peer), ports })),
  egress: listOf(object({ to: listOf(peer), ports })),
};

/** networking.k8s.io/v1 */
export const kubernetesNetworkPolicySpec: ObjectShape = object(FIELDS);

/** The pod selector is written even where it is empty. */
const { podSelector: _, ...OTHER_FIELDS } = FIELDS;

export const stagedKubernetesNetworkPolicySpec: ObjectShape = object(
  { ...FIELDS, stagedAction },
  {
    rules: [
      deletesOnly(OTHER_FIELDS),
      {
        cel: "!has(self.stagedAction) || self.stagedAction != 'Delete' || !has(self.podSelector) || !(has(self.podSelector.matchLabels) || has(self.podSelector.matchExpressions))",
        message: "a staged policy that deletes selects no pods",
      },
    ],
  },
);

const podsPeer = object({ namespaceSelector: labelSelector, podSelector: labelSelector });

const portMatch = object(
  {
    number: portNumber,
    range: object(
      { start: portNumber, end: portNumber },
      { required: ["start", "end"], rules: [{ cel: "self.start <= self.end", message: "start is above end" }] },
    ),
  },
  { rules: [{ cel: "has(self.number) != has(self.range)", message: "expected either number or range" }] },
);

const clusterProtocol = object({
  tcp: object({ destinationPort: portMatch }),
  udp: object({ destinationPort: portMatch }),
  sctp: object({ destinationPort: portMatch }),
  destinationNamedPort: text(),
});

const namespacesOrPods = { namespaces: labelSelector, pods: podsPeer } as const;

function clusterRule(peers: "from" | "to", peerShape: Shape): Shape {
  return object(
    {
      name: text({ maxLength: 100 }),
      action: oneOf(["Accept", "Deny", "Pass"]),
      [peers]: listOf(peerShape, { minItems: 1, maxItems: 100 }),
      protocols: listOf(clusterProtocol, { maxItems: 100 }),
    },
    { required: ["action", peers] },
  );
}

/** policy.networking.k8s.io/v1alpha2 */
export const clusterNetworkPolicySpec: ObjectShape = object(
  {
    tier: oneOf(["Admin", "Baseline"]),
    priority: integer(0, 1000),
    subject: object(namespacesOrPods, {
      rules: [{ cel: "has(self.namespaces) != has(self.pods)", message: "expected either namespaces or pods" }],
    }),
    ingress: listOf(clusterRule("from", object(namespacesOrPods)), { maxItems: 100 }),
    egress: listOf(
      clusterRule(
        "to",
        object({ ...namespacesOrPods, networks: listOf(text({ formats: ["cidr"] }), { maxItems: 100 }) }),
      ),
      { maxItems: 100 },
    ),
  },
  { required: ["tier", "priority", "subject"] },
);
