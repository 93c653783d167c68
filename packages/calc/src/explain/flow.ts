import type { WorkloadEndpointID } from "@bulrush/proto";

/** One end of a flow: a workload by its name (`namespace/pod` for Kubernetes), an exact endpoint, or an address. */
export type FlowEnd =
  | { readonly workload: string }
  | { readonly endpoint: WorkloadEndpointID }
  | { readonly address: string };

/** A flow to judge: the first packet of a connection. */
export interface Flow {
  readonly source: FlowEnd;
  readonly destination: FlowEnd;
  /** A name (tcp, udp, sctp, icmp, icmpv6, udplite; any case) or a number. */
  readonly protocol: string | number;
  /** Destination port; for protocols with ports. */
  readonly port?: number;
  /** Source port; absent: some port that no rule asks for. */
  readonly sourcePort?: number;
  /** Absent: some type that no rule asks for. Without a code: 0. */
  readonly icmp?: { readonly type: number; readonly code?: number };
  /** Default: that of an address given, else 4 when both ends have such an address, else 6. */
  readonly ipVersion?: 4 | 6;
}

/**
 * matched: a rule holds. not-matched: one of its conditions does not. omitted: the rule is not for this IP version.
 * skipped: a policy that only is staged. ended: a tier, the profiles or the whole list came to its end.
 */
export type StepOutcome = "matched" | "not-matched" | "omitted" | "skipped" | "ended";

/** One thing that was looked at, in order of evaluation. */
export interface ExplainStep {
  /** "" in the profile stage. */
  readonly tier: string;
  /** `kind/namespace/name` (`kind/name` for global kinds), `profile/name`, or "" for the end of a tier or of all. */
  readonly policy: string;
  /** From 0, within its direction; null for steps that are not rules. */
  readonly rule: number | null;
  readonly outcome: StepOutcome;
  /** What the step did to the flow; "none" where it did nothing. */
  readonly action: "allow" | "deny" | "pass" | "log" | "none";
  /** The condition that failed, or what the step means. */
  readonly why: string;
}

export interface SideVerdict {
  readonly verdict: "allow" | "deny";
  /** Tier that decided; "" when profiles or the final default did. */
  readonly tier: string;
  /** As in {@link ExplainStep}; "" for a default. */
  readonly policy: string;
  /** Index of the deciding rule, or null. */
  readonly rule: number | null;
  /** One sentence for people. */
  readonly why: string;
  readonly steps: readonly ExplainStep[];
}

/** The verdict of a flow: allowed when every side that is judged allows it. */
export interface FlowVerdict {
  readonly verdict: "allow" | "deny";
  readonly ipVersion: 4 | 6;
  /** Absent when the source is not a known endpoint. */
  readonly egress?: SideVerdict;
  /** Absent when the destination is not a known endpoint. */
  readonly ingress?: SideVerdict;
}
