/** How the text of a parameter is made from its field. */
export type FelixForm =
  | "text"
  | "boolean"
  | "integer"
  /** "1m30s" in the resource, seconds in the parameter. */
  | "duration"
  /** The same in milliseconds. */
  | "duration-ms"
  /** A number, or "low:high". */
  | "port"
  | "ports"
  /** A number from 0 to 63, or a name. */
  | "dscp"
  | "texts"
  | "text-map"
  | "failsafe-ports"
  | "table-range"
  | "table-ranges"
  | "health-timeouts"
  | "conntrack-timeouts"
  /** Says where the resource holds; no parameter. */
  | "placement";

/** A field of FelixConfiguration and the parameter that it sets. */
export interface FelixField {
  /** As FelixConfiguration's spec has it. */
  readonly field: string;
  /** As FELIX_<parameter> has it. */
  readonly parameter: string;
  readonly form: FelixForm;
}

/**
 * Every field with its parameter. A name may differ from its field in more than its first letter, so that each is
 * written out.
 */
const ROWS: readonly (readonly [form: FelixForm, names: string])[] = [
  ["placement", "nodeSelector:NodeSelector"],
  [
    "boolean",
    `useInternalDataplaneDriver:UseInternalDataplaneDriver ipv6Support:Ipv6Support ipipEnabled:IpInIpEnabled
    vxlanEnabled:VXLANEnabled allowVXLANPacketsFromWorkloads:AllowVXLANPacketsFromWorkloads
    allowIPIPPacketsFromWorkloads:AllowIPIPPacketsFromWorkloads endpointReportingEnabled:EndpointReportingEnabled
    disableConntrackInvalidCheck:DisableConntrackInvalidCheck healthEnabled:HealthEnabled
    prometheusMetricsEnabled:PrometheusMetricsEnabled prometheusGoMetricsEnabled:PrometheusGoMetricsEnabled
    prometheusProcessMetricsEnabled:PrometheusProcessMetricsEnabled
    prometheusWireGuardMetricsEnabled:PrometheusWireGuardMetricsEnabled usageReportingEnabled:UsageReportingEnabled
    removeExternalRoutes:RemoveExternalRoutes debugDisableLogDropping:DebugDisableLogDropping
    sidecarAccelerationEnabled:SidecarAccelerationEnabled xdpEnabled:XDPEnabled genericXDPEnabled:GenericXDPEnabled
    bpfEnabled:BPFEnabled bpfDisableUnprivileged:BPFDisableUnprivileged
    bpfConnectTimeLoadBalancingEnabled:BPFConnectTimeLoadBalancingEnabled
    bpfKubeProxyIptablesCleanupEnabled:BPFKubeProxyIptablesCleanupEnabled
    bpfKubeProxyEndpointSlicesEnabled:BPFKubeProxyEndpointSlicesEnabled bpfHostConntrackBypass:BPFHostConntrackBypass
    bpfIPFragmentReassemblyEnabled:BPFIPFragmentReassemblyEnabled bpfPolicyDebugEnabled:BPFPolicyDebugEnabled
    flowLogsCollectorDebugTrace:FlowLogsCollectorDebugTrace routeSyncDisabled:RouteSyncDisabled
    wireguardEnabled:WireguardEnabled wireguardEnabledV6:WireguardEnabledV6
    wireguardThreadingEnabled:WireguardThreadingEnabled wireguardHostEncryptionEnabled:WireguardHostEncryptionEnabled
    requireMTUFile:RequireMTUFile`,
  ],
  [
    "integer",
    `maxIpsetSize:MaxIpsetSize metadataPort:MetadataPort logActionRateLimitBurst:LogActionRateLimitBurst
    ipipMTU:IpInIpMtu vxlanMTU:VXLANMTU vxlanMTUV6:VXLANMTUV6 vxlanPort:VXLANPort vxlanVNI:VXLANVNI
    iptablesMarkMask:IptablesMarkMask nftablesMarkMask:NftablesMarkMask healthPort:HealthPort
    prometheusMetricsPort:PrometheusMetricsPort deviceRouteProtocol:DeviceRouteProtocol debugPort:DebugPort
    bpfExtToServiceConnmark:BPFExtToServiceConnmark bpfKubeProxyHealthzPort:BPFKubeProxyHealthzPort
    bpfMapSizeNATFrontend:BPFMapSizeNATFrontend bpfMapSizeNATBackend:BPFMapSizeNATBackend
    bpfMapSizeNATAffinity:BPFMapSizeNATAffinity bpfMapSizeRoute:BPFMapSizeRoute
    bpfMapSizeConntrack:BPFMapSizeConntrack bpfMapSizePerCpuConntrack:BPFMapSizePerCPUConntrack
    bpfMapSizeConntrackCleanupQueue:BPFMapSizeConntrackCleanupQueue bpfMapSizeIPSets:BPFMapSizeIPSets
    bpfMapSizeIfState:BPFMapSizeIfState bpfExportBufferSizeMB:BPFExportBufferSizeMB
    bpfMaglevMaxEndpointsPerService:BPFMaglevMaxEndpointsPerService bpfMaglevMaxServices:BPFMaglevMaxServices
    ipv4NormalRoutePriority:IPv4NormalRoutePriority ipv4ElevatedRoutePriority:IPv4ElevatedRoutePriority
    ipv6NormalRoutePriority:IPv6NormalRoutePriority ipv6ElevatedRoutePriority:IPv6ElevatedRoutePriority
    wireguardListeningPort:WireguardListeningPort wireguardListeningPortV6:WireguardListeningPortV6
    wireguardRoutingRulePriority:WireguardRoutingRulePriority wireguardMTU:WireguardMTU
    wireguardMTUV6:WireguardMTUV6 goGCThreshold:GoGCThreshold goMemoryLimitMB:GoMemoryLimitMB goMaxProcs:GoMaxProcs`,
  ],
  [
    "duration",
    `dataplaneWatchdogTimeout:DataplaneWatchdogTimeout routeRefreshInterval:RouteRefreshInterval
    interfaceRefreshInterval:InterfaceRefreshInterval iptablesRefreshInterval:IptablesRefreshInterval
    iptablesPostWriteCheckInterval:IptablesPostWriteCheckIntervalSecs ipsetsRefreshInterval:IpsetsRefreshInterval
    xdpRefreshInterval:XDPRefreshInterval netlinkTimeout:NetlinkTimeoutSecs reportingInterval:ReportingIntervalSecs
    reportingTTL:ReportingTTLSecs endpointReportingDelay:EndpointReportingDelaySecs
    usageReportingInitialDelay:UsageReportingInitialDelaySecs usageReportingInterval:UsageReportingIntervalSecs
    iptablesLockTimeout:IptablesLockTimeoutSecs debugSimulateCalcGraphHangAfter:DebugSimulateCalcGraphHangAfter
    debugSimulateDataplaneHangAfter:DebugSimulateDataplaneHangAfter
    debugSimulateDataplaneApplyDelay:DebugSimulateDataplaneApplyDelay nftablesRefreshInterval:NftablesRefreshInterval
    bpfIPFragTimeout:BPFIPFragTimeout bpfKubeProxyMinSyncPeriod:BPFKubeProxyMinSyncPeriod
    flowLogsFlushInterval:FlowLogsFlushInterval liveMigrationRouteConvergenceTime:LiveMigrationRouteConvergenceTime
    wireguardKeepAlive:WireguardPersistentKeepAlive
    localSubnetL2ReachabilityRefreshInterval:LocalSubnetL2ReachabilityRefreshInterval`,
  ],
  ["duration-ms", "iptablesLockProbeInterval:IptablesLockProbeIntervalMillis"],
  ["port", "natPortRange:NATPortRange bpfPSNATPorts:BPFPSNATPorts"],
  ["dscp", "istioDSCPMark:IstioDSCPMark"],
  ["ports", "kubeNodePortRanges:KubeNodePortRanges"],
  [
    "texts",
    `externalNodesList:ExternalNodesCIDRList bpfDSROptoutCIDRs:BPFDSROptoutCIDRs
    bpfForceTrackPacketsFromIfaces:BPFForceTrackPacketsFromIfaces bpfExcludeCIDRsFromNAT:BPFExcludeCIDRsFromNAT`,
  ],
  ["text-map", "bpfLogFilters:BPFLogFilters"],
  [
    "failsafe-ports",
    "failsafeInboundHostPorts:FailsafeInboundHostPorts failsafeOutboundHostPorts:FailsafeOutboundHostPorts",
  ],
  ["table-range", "routeTableRange:RouteTableRange"],
  ["table-ranges", "routeTableRanges:RouteTableRanges"],
  ["health-timeouts", "healthTimeoutOverrides:HealthTimeoutOverrides"],
  ["conntrack-timeouts", "bpfConntrackTimeouts:BPFConntrackTimeouts"],
  [
    "text",
    `dataplaneDriver:DataplaneDriver featureDetectOverride:FeatureDetectOverride featureGates:FeatureGates
    iptablesLockFilePath:IptablesLockFilePath iptablesBackend:IptablesBackend metadataAddr:MetadataAddr
    openstackRegion:OpenstackRegion interfacePrefix:InterfacePrefix interfaceExclude:InterfaceExclude
    chainInsertMode:ChainInsertMode defaultEndpointToHostAction:DefaultEndpointToHostAction
    iptablesFilterAllowAction:IptablesFilterAllowAction iptablesMangleAllowAction:IptablesMangleAllowAction
    iptablesFilterDenyAction:IptablesFilterDenyAction logPrefix:LogPrefix logActionRateLimit:LogActionRateLimit
    logFilePath:LogFilePath logSeverityFile:LogSeverityFile logSeverityScreen:LogSeverityScreen
    logSeveritySys:LogSeveritySys logDebugFilenameRegex:LogDebugFilenameRegex
    endpointStatusPathPrefix:EndpointStatusPathPrefix healthHost:HealthHost prometheusMetricsHost:PrometheusMetricsHost
    prometheusMetricsCAFile:PrometheusMetricsCAFile prometheusMetricsCertFile:PrometheusMetricsCertFile
    prometheusMetricsKeyFile:PrometheusMetricsKeyFile prometheusMetricsClientAuth:PrometheusMetricsClientAuth
    policySyncPathPrefix:PolicySyncPathPrefix natOutgoingAddress:NATOutgoingAddress
    natOutgoingExclusions:NATOutgoingExclusions deviceRouteSourceAddress:DeviceRouteSourceAddress
    deviceRouteSourceAddressIPv6:DeviceRouteSourceAddressIPv6 programClusterRoutes:ProgramClusterRoutes
    ipForwarding:IPForwarding debugMemoryProfilePath:DebugMemoryProfilePath debugHost:DebugHost
    iptablesNATOutgoingInterfaceFilter:IptablesNATOutgoingInterfaceFilter nftablesMode:NFTablesMode
    nftablesFilterAllowAction:NftablesFilterAllowAction nftablesMangleAllowAction:NftablesMangleAllowAction
    nftablesFilterDenyAction:NftablesFilterDenyAction nftablesFlowTableOffload:NFTablesFlowTableOffload
    nftablesFlowTableDataIfacePattern:NFTablesFlowTableDataIfacePattern
    bpfOverlayHostSourceIP:BPFOverlayHostSourceIP bpfJITHardening:BPFJITHardening bpfLogLevel:BPFLogLevel
    bpfConntrackLogLevel:BPFConntrackLogLevel bpfConntrackMode:BPFConntrackCleanupMode
    bpfCTLBLogFilter:BPFCTLBLogFilter bpfDataIfacePattern:BPFDataIfacePattern bpfL3IfacePattern:BPFL3IfacePattern
    bpfConnectTimeLoadBalancing:BPFConnectTimeLoadBalancing
    bpfHostNetworkedNATWithoutCTLB:BPFHostNetworkedNATWithoutCTLB bpfExternalServiceMode:BPFExternalServiceMode
    bpfMapSizeConntrackScaling:BPFMapSizeConntrackScaling bpfEnforceRPF:BPFEnforceRPF
    bpfDisableGROForIfaces:BPFDisableGROForIfaces bpfRedirectToPeer:BPFRedirectToPeer bpfAttachType:BPFAttachType
    bpfProfiling:BPFProfiling istioAmbientMode:IstioAmbientMode cgroupV2Path:CgroupV2Path
    flowLogsPolicyEvaluationMode:FlowLogsPolicyEvaluationMode flowLogsGoldmaneServer:FlowLogsGoldmaneServer
    flowLogsLocalReporter:FlowLogsLocalReporter routeSource:RouteSource
    wireguardInterfaceName:WireguardInterfaceName wireguardInterfaceNameV6:WireguardInterfaceNameV6
    awsSrcDstCheck:AWSSrcDstCheck serviceLoopPrevention:ServiceLoopPrevention
    workloadSourceSpoofing:WorkloadSourceSpoofing mtuIfacePattern:MTUIfacePattern floatingIPs:FloatingIPs
    localSubnetL2Reachability:LocalSubnetL2Reachability windowsManageFirewallRules:WindowsManageFirewallRules`,
  ],
];

/** By name of the field. */
export const FELIX_FIELDS: ReadonlyMap<string, FelixField> = new Map(
  ROWS.flatMap(([form, names]) =>
    names.split(/\s+/).map((pair) => {
      const [field = "", parameter = ""] = pair.split(":");
      return [field, { field, parameter, form }] as const;
    }),
  ),
);

/** A timer of `bpfConntrackTimeouts` and the name that the parameter has for it. */
export const CONNTRACK_TIMERS: ReadonlyMap<string, string> = new Map([
  ["creationGracePeriod", "CreationGracePeriod"],
  ["tcpSynSent", "TCPSynSent"],
  ["tcpEstablished", "TCPEstablished"],
  ["tcpFinsSeen", "TCPFinsSeen"],
  ["tcpResetSeen", "TCPResetSeen"],
  ["udpTimeout", "UDPTimeout"],
  ["genericTimeout", "GenericTimeout"],
  ["icmpTimeout", "ICMPTimeout"],
]);
