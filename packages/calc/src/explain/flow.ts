import type { WorkloadEndpointID } from "@bulrush/proto";

/**
 * One end of a flow: a workload by its name (`namespace/pod` for Kubernetes), an exact endpoint, a host itself by the
 * name of its node, a host endpoint (`node/name`), or an address, which stands for whoever has it.
 */
export type FlowEnd =
  | { readonly workload: string }
  | { readonly endpoint: WorkloadEndpointID }
  | { readonly host: string }
  | { readonly hostEndpoint: string }
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

/** What decides, and how. */
export interface Decision {
  readonly verdict: "allow" | "deny";
  /** Tier that decided; "" when profiles or the final default did. */
  readonly tier: string;
  /** As in {@link ExplainStep}; "" for a default. */
  readonly policy: string;
  /** Index of the deciding rule, or null. */
  readonly rule: number | null;
  /** One sentence for people. */
  readonly why: string;
}

/** What would decide in a what-if; "none" where nothing would, and it is left to what follows. */
export interface Outcome extends Omit<Decision, "verdict"> {
  readonly verdict: Decision["verdict"] | "none";
}

/** A policy that has rules for the direction and does not apply to the endpoint. */
export interface UnselectedPolicy {
  readonly tier: string;
  readonly policy: string;
  /** The terms of its selector that are not as they would have to be. */
  readonly why: string;
}

/** What one end's own policy says: of its egress for the source, of its ingress for the destination. */
export interface SideVerdict extends Decision {
  /** In order of evaluation, up to the one that decides. */
  readonly steps: readonly ExplainStep[];
  /** What would decide if that which decides were not there. Absent where nothing is behind it. */
  readonly next?: Outcome;
  /** What would decide if the staged policies were enforced. Absent where none is staged for the endpoint. */
  readonly staged?: Outcome;
  /** With the directory of an Explainer: policies that could have judged, and why they do not. At most 50. */
  readonly unselected?: readonly UnselectedPolicy[];
}

/** What a host endpoint says of a flow that passes its host's interface, or starts or ends at the host. */
export interface HostVerdict extends Omit<SideVerdict, "verdict" | "unselected"> {
  /** `node/name`. */
  readonly endpoint: string;
  readonly direction: "egress" | "ingress";
  /**
   * In the order of the packet's way: untracked (doNotTrack), pre-dnat (preDNAT), then normal for what starts or ends at
   * the host, or forward (applyOnForward) for what passes through it.
   */
  readonly stage: "untracked" | "pre-dnat" | "normal" | "forward";
  /** "none": nothing decided here, and the packet goes on. */
  readonly verdict: "allow" | "deny" | "none";
}

/** The verdict of a flow: allowed when every side that is judged allows it, and no host endpoint denies it. */
export interface FlowVerdict {
  readonly verdict: "allow" | "deny";
  readonly ipVersion: 4 | 6;
  /** Absent when the source is not a known endpoint. */
  readonly egress?: SideVerdict;
  /** Absent when the destination is not a known endpoint. */
  readonly ingress?: SideVerdict;
  /** In the order of the packet's way. Absent unless host endpoints were asked for, and one is on the way. */
  readonly hosts?: readonly HostVerdict[];
  /** What was assumed, and what policy does not see. Absent when there is nothing to say. */
  readonly notes?: readonly string[];
  /** The verdict of all if the staged policies were enforced. Absent where none is staged for an end. */
  readonly staged?: "allow" | "deny";
}
