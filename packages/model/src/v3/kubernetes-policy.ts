import type { ResourceOf, StringMap } from "./object.ts";

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}

/** An absent selector and an empty one mean different things; see each field. */
export interface LabelSelector {
  readonly matchLabels?: StringMap;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

/** networking.k8s.io/v1 */
export interface KubernetesPolicyPort {
  readonly protocol?: string;
  readonly port?: number | string;
  readonly endPort?: number;
}

export interface KubernetesPolicyPeer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: { readonly cidr?: string; readonly except?: readonly string[] };
}

export interface KubernetesIngressRule {
  readonly from?: readonly KubernetesPolicyPeer[];
  readonly ports?: readonly KubernetesPolicyPort[];
}

export interface KubernetesEgressRule {
  readonly to?: readonly KubernetesPolicyPeer[];
  readonly ports?: readonly KubernetesPolicyPort[];
}

export interface KubernetesNetworkPolicySpec {
  readonly podSelector?: LabelSelector;
  readonly policyTypes?: readonly ("Ingress" | "Egress")[];
  readonly ingress?: readonly KubernetesIngressRule[];
  readonly egress?: readonly KubernetesEgressRule[];
}

/** policy.networking.k8s.io/v1alpha2 */
export interface ClusterPolicyPodPeer {
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector?: LabelSelector;
}

export interface ClusterPolicySubject {
  readonly namespaces?: LabelSelector;
  readonly pods?: ClusterPolicyPodPeer;
}

/** Exactly one field is set; a field that is not among these is a kind of peer that we do not know. */
export interface ClusterPolicyPeer {
  readonly namespaces?: LabelSelector;
  readonly pods?: ClusterPolicyPodPeer;
  readonly networks?: readonly string[];
}

export interface ClusterPolicyPortMatch {
  readonly number?: number;
  readonly range?: { readonly start?: number; readonly end?: number };
}

/** Exactly one field is set. */
export interface ClusterPolicyProtocol {
  readonly tcp?: { readonly destinationPort?: ClusterPolicyPortMatch };
  readonly udp?: { readonly destinationPort?: ClusterPolicyPortMatch };
  readonly sctp?: { readonly destinationPort?: ClusterPolicyPortMatch };
  readonly destinationNamedPort?: string;
}

export interface ClusterPolicyRule {
  readonly name?: string;
  readonly action?: "Accept" | "Deny" | "Pass";
  readonly from?: readonly ClusterPolicyPeer[];
  readonly to?: readonly ClusterPolicyPeer[];
  readonly protocols?: readonly ClusterPolicyProtocol[];
}

export interface ClusterNetworkPolicySpec {
  readonly tier?: "Admin" | "Baseline";
  /** 0 to 1,000; lower first. */
  readonly priority?: number;
  readonly subject?: ClusterPolicySubject;
  readonly ingress?: readonly ClusterPolicyRule[];
  readonly egress?: readonly ClusterPolicyRule[];
}

export type KubernetesNetworkPolicyResource = ResourceOf<KubernetesNetworkPolicySpec>;
export type ClusterNetworkPolicyResource = ResourceOf<ClusterNetworkPolicySpec>;
