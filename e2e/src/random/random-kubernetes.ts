import type {
  ClusterPolicyPeer,
  ClusterPolicyProtocol,
  KubernetesNetworkPolicySpec,
  KubernetesPolicyPeer,
  KubernetesPolicyPort,
  LabelSelector,
  Resource,
} from "@bulrush/model";
import { type Choices, definedFields } from "./choices.ts";
import { randomLabelSelector } from "./random-selector.ts";
import { EVERYTHING, NAMESPACE_LABELS, NAMESPACES, NETS, POD_LABELS, PORT_NAMES } from "./vocabulary.ts";

/** The label of the namespace that cluster policies must leave alone: see guard.ts. */
export const GUARDED_LABEL = "guarded";

const PROTOCOLS = ["TCP", "UDP", "SCTP"] as const;
const namespaceSelector = (choices: Choices): LabelSelector => randomLabelSelector(choices, NAMESPACE_LABELS);
const podSelector = (choices: Choices): LabelSelector => randomLabelSelector(choices, POD_LABELS);

function randomPeer(choices: Choices): KubernetesPolicyPeer {
  if (choices.chance(0.3)) return { ipBlock: randomBlock(choices) };
  const peer = definedFields({
    podSelector: choices.maybe(0.6, () => podSelector(choices)),
    namespaceSelector: choices.maybe(0.6, () => namespaceSelector(choices)),
  });
  return Object.keys(peer).length === 0 ? { podSelector: {} } : peer;
}

function randomBlock(choices: Choices): { cidr: string; except?: string[] } {
  const family = choices.pick([4, 6] as const);
  if (choices.chance(0.5)) return { cidr: choices.pick([...NETS[family], EVERYTHING[family]]) };
  const hosts = NETS[family].filter((net) => net.endsWith("/32") || net.endsWith("/128"));
  return {
    cidr: EVERYTHING[family],
    except: choices.some([...hosts, family === 4 ? "10.65.2.0/24" : "fd65::2:0/112"], 1, 3),
  };
}

function randomPort(choices: Choices): KubernetesPolicyPort {
  const protocol = choices.maybe(0.7, () => choices.pick(PROTOCOLS));
  switch (choices.below(4)) {
    case 0:
      return definedFields({ protocol, port: choices.pick(PORT_NAMES) });
    case 1:
      return definedFields({ protocol, port: 80, endPort: choices.pick([80, 81, 9000]) });
    case 2:
      return definedFields({ protocol });
    default:
      return definedFields({ protocol, port: choices.pick([80, 81, 8080]) });
  }
}

/** networking.k8s.io/v1 NetworkPolicy, or Calico's staged form of it. */
export function randomKubernetesPolicy(choices: Choices, name: string, staged: boolean): Resource {
  const rules = (peers: "from" | "to"): object[] | undefined =>
    choices.maybe(0.7, () =>
      Array.from({ length: choices.between(0, 3) }, () =>
        definedFields({
          [peers]: choices.maybe(0.8, () => Array.from({ length: choices.between(0, 3) }, () => randomPeer(choices))),
          ports: choices.maybe(0.4, () => Array.from({ length: choices.between(0, 3) }, () => randomPort(choices))),
        }),
      ),
    );
  const spec = definedFields({
    podSelector: podSelector(choices),
    policyTypes: choices.maybe(0.6, () => choices.some(["Ingress", "Egress"] as const, 1, 2)),
    ingress: rules("from"),
    egress: rules("to"),
  }) as KubernetesNetworkPolicySpec;
  return {
    apiVersion: staged ? "projectcalico.org/v3" : "networking.k8s.io/v1",
    kind: staged ? "StagedKubernetesNetworkPolicy" : "NetworkPolicy",
    metadata: { name, namespace: choices.pick(NAMESPACES) },
    spec,
  };
}

function randomClusterPeer(choices: Choices, peers: "from" | "to"): ClusterPolicyPeer {
  if (peers === "to" && choices.chance(0.25)) return { networks: choices.some([...NETS[4], ...NETS[6]], 1, 3) };
  if (choices.chance(0.5)) return { namespaces: namespaceSelector(choices) };
  return { pods: { namespaceSelector: namespaceSelector(choices), podSelector: podSelector(choices) } };
}

function randomClusterProtocol(choices: Choices): ClusterPolicyProtocol {
  if (choices.chance(0.3)) return { destinationNamedPort: choices.pick(PORT_NAMES) };
  const port = choices.chance(0.5)
    ? { number: choices.pick([80, 81]) }
    : { range: { start: choices.pick([1, 80, 81]), end: 90 } };
  const match = choices.chance(0.2) ? {} : { destinationPort: port };
  return choices.pick([{ tcp: match }, { udp: match }, { sctp: match }]);
}

/** policy.networking.k8s.io/v1alpha2 ClusterNetworkPolicy. Its subjects leave the guarded namespace out. */
export function randomClusterPolicy(choices: Choices, name: string): Resource {
  const unguarded = (selector: LabelSelector): LabelSelector => ({
    ...selector,
    matchExpressions: [...(selector.matchExpressions ?? []), { key: GUARDED_LABEL, operator: "DoesNotExist" }],
  });
  const rules = (peers: "from" | "to"): object[] =>
    Array.from({ length: choices.between(0, 3) }, () =>
      definedFields({
        name: choices.maybe(0.3, () => "a rule"),
        action: choices.pick(["Accept", "Deny", "Pass"]),
        [peers]: Array.from({ length: choices.between(1, 2) }, () => randomClusterPeer(choices, peers)),
        protocols: choices.maybe(0.5, () =>
          Array.from({ length: choices.between(1, 2) }, () => randomClusterProtocol(choices)),
        ),
      }),
    );
  const namespaces = unguarded(namespaceSelector(choices));
  return {
    apiVersion: "policy.networking.k8s.io/v1alpha2",
    kind: "ClusterNetworkPolicy",
    metadata: { name },
    spec: {
      tier: choices.pick(["Admin", "Baseline"]),
      priority: choices.pick([0, 1, 1, 10, 1000]),
      subject: choices.chance(0.5)
        ? { namespaces }
        : { pods: { namespaceSelector: namespaces, podSelector: podSelector(choices) } },
      ingress: rules("from"),
      egress: rules("to"),
    },
  };
}
