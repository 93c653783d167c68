import type { ResourceOf } from "./object.ts";
import type { KubernetesNetworkPolicySpec } from "./kubernetes-policy.ts";
import type { RuleSpec } from "./rule.ts";

/** Directions, as the endpoint sees them. */
export type PolicyType = "Ingress" | "Egress";
/**
 * What enforcing it would do: "Set" (default) or "Delete" the policy of its name. "Learn" and "Ignore" are kept as
 * written.
 */
export type StagedAction = "Set" | "Delete" | "Learn" | "Ignore";

/** Rules in order of evaluation, the first that decides wins. */
export interface NetworkPolicySpec {
  /** "" and absent mean `default`. */
  readonly tier?: string;
  /** Lower first; absent sorts last. */
  readonly order?: number;
  /** Whom it is for. Default: all endpoints (of its namespace). */
  readonly selector?: string;
  readonly serviceAccountSelector?: string;
  /** Default: egress alone where there are egress rules only, both where there are both, else ingress. */
  readonly types?: readonly PolicyType[];
  readonly ingress?: readonly RuleSpec[];
  readonly egress?: readonly RuleSpec[];
  /** "AssumeNeededOnEveryNode". */
  readonly performanceHints?: readonly string[];
}

/** Of a cluster-wide policy, which may also be for host endpoints. */
export interface GlobalNetworkPolicySpec extends NetworkPolicySpec {
  /** Only workloads in namespaces with these labels. Default: no such condition. */
  readonly namespaceSelector?: string;
  /** At most one of this and `preDNAT`; either needs `applyOnForward`. Default false. */
  readonly doNotTrack?: boolean;
  /** Ingress rules only. */
  readonly preDNAT?: boolean;
  /** Also for what the host forwards. Default false. */
  readonly applyOnForward?: boolean;
}

/** What a staged policy has beside the fields of its kind. */
export interface StagedFields {
  readonly stagedAction?: StagedAction;
}

/** `order`: lower first, absent sorts last. `defaultAction`: "Deny" by default. */
export interface TierSpec {
  readonly order?: number;
  readonly defaultAction?: "Deny" | "Pass";
}

/** Rules of endpoints that no policy has decided for. */
export interface ProfileSpec {
  readonly ingress?: readonly RuleSpec[];
  readonly egress?: readonly RuleSpec[];
  /** Endpoints of the profile inherit these; their own labels win. */
  readonly labelsToApply?: Readonly<Record<string, string>>;
}

/** Networks that selectors find by the labels of the set. */
export interface NetworkSetSpec {
  /** CIDR text or addresses, of both families. */
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
