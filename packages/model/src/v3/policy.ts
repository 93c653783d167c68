import type { ResourceOf } from "./object.ts";
import type { KubernetesNetworkPolicySpec } from "./kubernetes-policy.ts";
import type { RuleSpec } from "./rule.ts";

export type PolicyType = "Ingress" | "Egress";
export type StagedAction = "Set" | "Delete" | "Learn" | "Ignore";

export interface NetworkPolicySpec {
  /** "" and absent mean `default`. */
  readonly tier?: string;
  /** Lower first; absent sorts last. */
  readonly order?: number;
  readonly selector?: string;
  readonly serviceAccountSelector?: string;
  readonly types?: readonly PolicyType[];
  readonly ingress?: readonly RuleSpec[];
  readonly egress?: readonly RuleSpec[];
  readonly performanceHints?: readonly string[];
}

export interface GlobalNetworkPolicySpec extends NetworkPolicySpec {
  readonly namespaceSelector?: string;
  readonly doNotTrack?: boolean;
  readonly preDNAT?: boolean;
  readonly applyOnForward?: boolean;
}

export interface StagedFields {
  readonly stagedAction?: StagedAction;
}

export interface TierSpec {
  readonly order?: number;
  readonly defaultAction?: "Deny" | "Pass";
}

export interface ProfileSpec {
  readonly ingress?: readonly RuleSpec[];
  readonly egress?: readonly RuleSpec[];
  readonly labelsToApply?: Readonly<Record<string, string>>;
}

export interface NetworkSetSpec {
  readonly nets?: readonly string[];
}

export type NetworkPolicyResource = ResourceOf<NetworkPolicySpec>;
export type GlobalNetworkPolicyResource = ResourceOf<GlobalNetworkPolicySpec>;
export type StagedNetworkPolicyResource = ResourceOf<NetworkPolicySpec & StagedFields>;
export type StagedGlobalNetworkPolicyResource = ResourceOf<GlobalNetworkPolicySpec & StagedFields>;
export type StagedKubernetesNetworkPolicyResource = ResourceOf<KubernetesNetworkPolicySpec & StagedFields>;
export type TierResource = ResourceOf<TierSpec>;
export type ProfileResource = ResourceOf<ProfileSpec>;
export type NetworkSetResource = ResourceOf<NetworkSetSpec>;
export type GlobalNetworkSetResource = ResourceOf<NetworkSetSpec>;
