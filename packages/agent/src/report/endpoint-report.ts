import { compareStrings } from "@bulrush/base";
import { type DataplaneState, policyIdText } from "@bulrush/calc";
import type { DataplaneStatus, EndpointStatus } from "@bulrush/dataplane";
import type { TierInfo } from "@bulrush/proto";

/** What this host guards, as the dataplane was told; in the order of names. */
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

interface TierReport {
  readonly name: string;
  /** Of host endpoints: which packets it is for. */
  readonly stage: "normal" | "untracked" | "pre-dnat" | "forward";
  /** In the order of evaluation, as explanations name them; staged ones enforce nothing. */
  readonly ingress: readonly string[];
  readonly egress: readonly string[];
  /** What becomes of packets that no policy decides. */
  readonly end: "Deny" | "Pass";
}

/** `statuses`: by `workload/ID` and `host/ID`, as the dataplane reported last. */
export function endpointReports(
  state: DataplaneState,
  statuses: (endpoint: string) => EndpointStatus | undefined,
): readonly EndpointReport[] {
  const out: EndpointReport[] = [];
  for (const [id, { id: names, endpoint }] of state.workloadEndpoints) {
    const { ipv4_nets, ipv6_nets, name, profile_ids, tiers } = endpoint;
    out.push({
      kind: "workload",
      name: names.workload,
      interfaceName: name,
      addresses: [...ipv4_nets, ...ipv6_nets],
      ...statusOf(statuses(`workload/${id}`)),
      tiers: tiers.map((tier) => tierReport(tier, "normal")),
      profiles: profile_ids,
    });
  }
  for (const [id, endpoint] of state.hostEndpoints) {
    const { expected_ipv4_addrs, expected_ipv6_addrs, name, profile_ids } = endpoint;
    out.push({
      kind: "host",
      name: id,
      interfaceName: name,
      addresses: [...expected_ipv4_addrs, ...expected_ipv6_addrs],
      ...statusOf(statuses(`host/${id}`)),
      tiers: [
        ...endpoint.untracked_tiers.map((tier) => tierReport(tier, "untracked")),
        ...endpoint.pre_dnat_tiers.map((tier) => tierReport(tier, "pre-dnat")),
        ...endpoint.tiers.map((tier) => tierReport(tier, "normal")),
        ...endpoint.forward_tiers.map((tier) => tierReport(tier, "forward")),
      ],
      profiles: profile_ids,
    });
  }
  return out.sort((a, b) => compareStrings(a.kind, b.kind) || compareStrings(a.name, b.name));
}

function statusOf(status: EndpointStatus | undefined): Pick<EndpointReport, "status"> {
  return status === undefined ? {} : { status };
}

function tierReport(tier: TierInfo, stage: TierReport["stage"]): TierReport {
  const { default_action, egress_policies, ingress_policies, name } = tier;
  return {
    name,
    stage,
    ingress: ingress_policies.map(policyIdText),
    egress: egress_policies.map(policyIdText),
    end: default_action === "Pass" ? "Pass" : "Deny",
  };
}
