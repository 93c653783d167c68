import type { ResourceOf, StringMap } from "./object.ts";

/** `values` are for In and NotIn alone. NotIn holds too where the label is missing. */
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
  /** Default "TCP". */
  readonly protocol?: string;
  /** A number or the name of a container's port. Absent: all ports of the protocol. */
  readonly port?: number | string;
  /** Last of a range that begins at a numeric `port`. */
  readonly endPort?: number;
}

/** `ipBlock` stands alone; both selectors together pick those pods in those namespaces. */
export interface KubernetesPolicyPeer {
  /** Alone: in the policy's own namespace. */
  readonly podSelector?: LabelSelector;
  /** Empty: every namespace. Alone: all their pods. */
  readonly namespaceSelector?: LabelSelector;
  /** `except` are networks inside `cidr` that do not match. */
  readonly ipBlock?: { readonly cidr?: string; readonly except?: readonly string[] };
}

/** No peers: all of them; no ports: all of them. */
export interface KubernetesIngressRule {
  readonly from?: readonly KubernetesPolicyPeer[];
  readonly ports?: readonly KubernetesPolicyPort[];
}

/** No peers: all of them; no ports: all of them. */
export interface KubernetesEgressRule {
  readonly to?: readonly KubernetesPolicyPeer[];
  readonly ports?: readonly KubernetesPolicyPort[];
}

/** networking.k8s.io/v1. What no rule allows is denied, in the directions of `policyTypes`. */
export interface KubernetesNetworkPolicySpec {
  /** Empty: every pod of the namespace. */
  readonly podSelector?: LabelSelector;
  /** Default: ingress, and egress if there are egress rules. */
  readonly policyTypes?: readonly ("Ingress" | "Egress")[];
  readonly ingress?: readonly KubernetesIngressRule[];
  readonly egress?: readonly KubernetesEgressRule[];
}

/** policy.networking.k8s.io/v1alpha2 */
export interface ClusterPolicyPodPeer {
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector?: LabelSelector;
}

/** Exactly one field is set; an empty selector picks everything. */
export interface ClusterPolicySubject {
  readonly namespaces?: LabelSelector;
  /** Both selectors must hold. */
  readonly pods?: ClusterPolicyPodPeer;
}

/** Exactly one field is set; a field that is not among these is a kind of peer that we do not know. */
export interface ClusterPolicyPeer {
  readonly namespaces?: LabelSelector;
  readonly pods?: ClusterPolicyPodPeer;
  readonly networks?: readonly string[];
}

/** Exactly one field is set; a range is inclusive. */
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

/** An ingress rule has `from`, an egress rule `to`. No protocols: all of them. */
export interface ClusterPolicyRule {
  readonly name?: string;
  /** "Pass": on to what comes after this tier. */
  readonly action?: "Accept" | "Deny" | "Pass";
  /** Any of them; of `to` too. */
  readonly from?: readonly ClusterPolicyPeer[];
  readonly to?: readonly ClusterPolicyPeer[];
  readonly protocols?: readonly ClusterPolicyProtocol[];
}

/** A policy of the cluster's administrators; rules in order, the first that matches decides. */
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
