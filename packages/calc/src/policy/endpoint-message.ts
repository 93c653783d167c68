import type {
  HostEndpoint,
  LabelMap,
  NatMapping,
  QoSControls,
  WorkloadEndpoint,
  WorkloadEndpointKey,
} from "@bulrush/model";
import type {
  DataplaneHostEndpoint,
  DataplaneWorkloadEndpoint,
  NatInfo,
  TierInfo,
  WorkloadEndpointID,
} from "@bulrush/proto";
import type { HostTiers } from "./tier-lists.ts";

/** What other calculators found out about a workload endpoint. */
export type ComputedData = Partial<
  Pick<
    DataplaneWorkloadEndpoint,
    "local_bgp_peer" | "is_istio_ambient" | "live_migration_role" | "live_migration_uid" | "live_migration_vmi_name"
  >
>;

const NO_MAP: LabelMap = new Map();
/** Shared by all messages: most of their lists are empty. */
const NONE: readonly never[] = [];

/** `withHost`: the graph is of all hosts, so the host name tells endpoints apart. */
export function workloadId(key: WorkloadEndpointKey, withHost: boolean): WorkloadEndpointID {
  const { hostname, orchestrator, workload, endpoint } = key;
  return withHost ? { hostname, orchestrator, workload, endpoint } : { orchestrator, workload, endpoint };
}

export function workloadMessage(
  value: WorkloadEndpoint,
  tiers: readonly TierInfo[],
  computed: ComputedData,
): DataplaneWorkloadEndpoint {
  const qos = value.qosControls;
  const redirect = skipRedirect(value.labels ?? NO_MAP, qos);
  const limits = qosControls(qos);
  return {
    state: value.state,
    name: value.name,
    mac: value.mac ?? "",
    profile_ids: value.profile_ids ?? NONE,
    ipv4_nets: value.ipv4_nets ?? NONE,
    ipv6_nets: value.ipv6_nets ?? NONE,
    tiers,
    ipv4_nat: nats(value.ipv4_nat),
    ipv6_nat: nats(value.ipv6_nat),
    allow_spoofed_source_prefixes: value.allow_spoofed_source_ips ?? NONE,
    annotations: value.annotations ?? NO_MAP,
    qos_policies: qosPolicies(qos),
    ...(limits !== undefined && { qos_controls: limits }),
    ...(redirect !== undefined && { skip_redir: redirect }),
    ...computed,
  };
}

export function hostMessage(value: HostEndpoint, tiers: HostTiers): DataplaneHostEndpoint {
  return {
    name: value.name,
    profile_ids: value.profile_ids ?? [],
    tiers: tiers.normal,
    untracked_tiers: tiers.untracked,
    pre_dnat_tiers: tiers.preDnat,
    forward_tiers: tiers.forward,
    expected_ipv4_addrs: value.expected_ipv4_addrs ?? [],
    expected_ipv6_addrs: value.expected_ipv6_addrs ?? [],
    qos_policies: qosPolicies(value.qosControls),
  };
}

function nats(mappings: readonly NatMapping[] | undefined): readonly NatInfo[] {
  return mappings === undefined ? NONE : mappings.map(({ ext_ip, int_ip }) => ({ ext_ip, int_ip }));
}

/** The limits. The DSCP is none: it goes with the policies below. */
function qosControls(qos: QoSControls | undefined): DataplaneWorkloadEndpoint["qos_controls"] {
  if (qos === undefined) return undefined;
  const { dscp: _, ...limits } = qos;
  return Object.keys(limits).length === 0 ? undefined : limits;
}

/** The DSCP of packets that leave the endpoint, whatever their destination. */
function qosPolicies(qos: QoSControls | undefined): readonly { readonly destination: string; readonly dscp: number }[] {
  const dscp = qos?.["dscp"];
  return dscp === undefined || dscp === null ? NONE : [{ destination: "", dscp }];
}

/** Where packets may not be redirected past the interface: its queues limit them, or a virtual machine moves it. */
function skipRedirect(
  labels: LabelMap,
  qos: QoSControls | undefined,
): { readonly egress: boolean; readonly ingress: boolean } | undefined {
  const virtualMachine = labels.get("kubevirt.io") === "virt-launcher";
  const limited = (direction: "ingress" | "egress"): boolean =>
    Boolean(qos?.[`${direction}Bandwidth`]) || Boolean(qos?.[`${direction}PacketRate`]);
  const ingress = virtualMachine || limited("ingress");
  const egress = limited("egress");
  return ingress || egress ? { egress, ingress } : undefined;
}
