import type { DataplaneStatus, EndpointStatus } from "./status.ts";

/** What a host guards, as its agent tells it on its own socket; in the order of names. */
export interface HostReport {
  /** Of the dataplane; "starting" before it has said anything. */
  readonly phase: DataplaneStatus["phase"] | "starting";
  /** One sentence: what it waits for, or what failed last. */
  readonly reason: string;
  readonly endpoints: readonly EndpointReport[];
}

export interface EndpointReport {
  readonly kind: "workload" | "host";
  /** `namespace/pod` or what else the workload is called; the name of a host endpoint. */
  readonly name: string;
  /** Of the kernel; "*" is all, "" one that is found by its addresses. */
  readonly interfaceName: string;
  readonly addresses: readonly string[];
  /** Undefined: nothing was reported yet. error: a host endpoint that guards no interface of this host. */
  readonly status?: EndpointStatus;
  readonly tiers: readonly TierReport[];
  /** What judges where no tier decides. */
  readonly profiles: readonly string[];
}

export interface TierReport {
  readonly name: string;
  /** Of host endpoints: which packets it is for. */
  readonly stage: "normal" | "untracked" | "pre-dnat" | "forward";
  /** In the order of evaluation, as explanations name them; staged ones enforce nothing. */
  readonly ingress: readonly string[];
  readonly egress: readonly string[];
  /** What becomes of packets that no policy decides. */
  readonly end: "Deny" | "Pass";
}

/** What becomes of a host's connections once staged policies are enforced, as its agent tells it on its own socket. */
export interface StagedConnections {
  /** Different connections that were judged. */
  readonly judged: number;
  /** Those that were not, for there are too many. */
  readonly left: number;
  readonly changes: readonly StagedChange[];
}

/** A connection that would be judged otherwise. */
export interface StagedChange {
  readonly from: string;
  readonly to: string;
  /** Of IP. */
  readonly protocol: number;
  /** Where it goes, behind a service; absent for protocols without ports. */
  readonly port?: number;
  /** The pods of this host at its ends. */
  readonly fromPod?: string;
  readonly toPod?: string;
  readonly now: "allow" | "deny";
  readonly staged: "allow" | "deny";
  /** What decides then, on the side that changes. */
  readonly by: string;
}
