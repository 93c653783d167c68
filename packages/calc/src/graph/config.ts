/**
 * What the graph needs to know of the host's configuration. A change of any of these needs a new graph (the agent
 * restarts, as the reference does).
 */
export interface CalcGraphConfig {
  /** Hide members that a broader member of the same set covers: nf_tables refuses overlapping intervals. Default true. */
  readonly suppressOverlaps: boolean;
  /** Where workload routes come from: IPAM blocks (and the workloads of this host), or the addresses of all workloads. */
  readonly routeSource: "CalicoIPAM" | "WorkloadIPs";
  /** Routes are computed when one of the next five asks for them. */
  readonly ipipEnabled: boolean;
  readonly vxlanEnabled: boolean;
  readonly vxlanEnabledV6: boolean;
  readonly wireguardEnabled: boolean;
  readonly noEncapNeeded: boolean;
  /** Which pools' routes this agent programs itself. */
  readonly programClusterRoutes: "Enabled" | "Disabled" | "EnabledIPIPOnly" | "EnabledNoEncapOnly";
  /** Explicit FELIX_IPINIPENABLED and FELIX_VXLANENABLED: they beat what the pools say. */
  readonly explicitIPIPEnabled: boolean | undefined;
  readonly explicitVXLANEnabled: boolean | undefined;
  /** Workloads in Istio's ambient mesh are marked, and gathered in an IP set. */
  readonly istioAmbient: boolean;
}

/** The reference's own defaults, without any encapsulation: no routes are computed. */
export const DEFAULT_CALC_CONFIG: CalcGraphConfig = {
  suppressOverlaps: true,
  routeSource: "CalicoIPAM",
  ipipEnabled: false,
  vxlanEnabled: false,
  vxlanEnabledV6: false,
  wireguardEnabled: false,
  noEncapNeeded: false,
  programClusterRoutes: "EnabledIPIPOnly",
  explicitIPIPEnabled: undefined,
  explicitVXLANEnabled: undefined,
  istioAmbient: false,
};
