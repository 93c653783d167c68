import type { BGPConfigurationResource } from "@bulrush/model";
import type { GlobalBGPConfigUpdate } from "@bulrush/proto";

interface PeeringFields {
  readonly localWorkloadPeeringIPV4?: string;
  readonly localWorkloadPeeringIPV6?: string;
}

/** The default BGPConfiguration, or (`undefined`) an empty message: there is none any more. Blank networks are skipped. */
export function globalBgpMessage(config: BGPConfigurationResource | undefined): GlobalBGPConfigUpdate {
  const spec = config?.spec;
  const peering = spec as PeeringFields | undefined;
  const cidrs = (list: readonly { readonly cidr: string }[] | undefined): readonly string[] => {
    const out: string[] = [];
    for (const { cidr } of list ?? []) if (cidr) out.push(cidr);
    return out;
  };
  return {
    msg: "GlobalBGPConfigUpdate",
    service_cluster_cidrs: cidrs(spec?.serviceClusterIPs),
    service_external_cidrs: cidrs(spec?.serviceExternalIPs),
    service_loadbalancer_cidrs: cidrs(spec?.serviceLoadBalancerIPs),
    local_workload_peering_ip_v4: peering?.localWorkloadPeeringIPV4 ?? "",
    local_workload_peering_ip_v6: peering?.localWorkloadPeeringIPV6 ?? "",
  };
}
