import { compareStrings } from "@bulrush/base";
import { type DataplaneState, policyIdText } from "@bulrush/calc";
import type { EndpointReport, EndpointStatus, TierReport } from "@bulrush/dataplane";
import type { TierInfo } from "@bulrush/proto";

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
