import { parseDscp } from "@bulrush/model";
import {
  bool,
  type ConfigTable,
  defineConfig,
  file,
  int,
  oneOf,
  optional,
  type ParameterType,
  port,
  seconds,
  text,
  textList,
} from "@bulrush/service";

/** Settings that reach the calculation graph or the dataplane. Times in seconds, as upstream. */
export interface DataplaneSettings {
  readonly InterfacePrefix: readonly string[];
  readonly Ipv6Support: boolean;
  readonly IPForwarding: "Enabled" | "Disabled" | "";
  readonly NftablesMarkMask: number;
  readonly NftablesFilterAllowAction: "ACCEPT" | "RETURN" | "";
  readonly NftablesMangleAllowAction: "ACCEPT" | "RETURN" | "";
  readonly NftablesFilterDenyAction: "DROP" | "REJECT" | "";
  readonly DefaultEndpointToHostAction: "DROP" | "RETURN" | "ACCEPT" | "";
  readonly DisableConntrackInvalidCheck: boolean;
  readonly WorkloadSourceSpoofing: "Disabled" | "Any" | "";
  readonly AllowVXLANPacketsFromWorkloads: boolean;
  readonly AllowIPIPPacketsFromWorkloads: boolean;
  readonly VXLANPort: number;
  readonly VXLANVNI: number;
  readonly VXLANMTU: number;
  readonly VXLANMTUV6: number;
  readonly IpInIpMtu: number;
  readonly WireguardEnabledV6: boolean;
  readonly WireguardHostEncryptionEnabled: boolean;
  readonly WireguardThreadingEnabled: boolean;
  readonly WireguardPersistentKeepAlive: number;
  readonly WireguardRoutingRulePriority: number;
  readonly RouteTableRange: string;
  readonly RouteTableRanges: string;
  readonly WireguardListeningPort: number;
  readonly WireguardListeningPortV6: number;
  readonly WireguardInterfaceName: string;
  readonly WireguardInterfaceNameV6: string;
  readonly WireguardMTU: number;
  readonly WireguardMTUV6: number;
  readonly MTUFile: string;
  readonly EndpointStatusPathPrefix: string;
  readonly MTUIfacePattern: string;
  readonly ExternalNodesCIDRList: string;
  readonly InterfaceExclude: string;
  readonly NATPortRange: string;
  readonly NATOutgoingAddress: string;
  readonly IptablesNATOutgoingInterfaceFilter: string;
  readonly FloatingIPs: "Disabled" | "Enabled" | "";
  readonly FailsafeInboundHostPorts: string;
  readonly FailsafeOutboundHostPorts: string;
  readonly LogPrefix: string;
  readonly LogActionRateLimit: string;
  readonly LogActionRateLimitBurst: number;
  readonly NFTablesFlowTableOffload: "Disabled" | "All" | "";
  readonly NFTablesFlowTableDataIfacePattern: string;
  readonly FlowLogsLocalReporter: "Disabled" | "Enabled" | "";
  readonly ServiceLoopPrevention: "Drop" | "Reject" | "Disabled" | "";
  readonly ClusterType: string;
  readonly MetadataAddr: string;
  readonly MetadataPort: number;
  readonly NATOutgoingExclusions: "IPPoolsOnly" | "IPPoolsAndHostIPs" | "";
  readonly RouteSyncDisabled: boolean;
  readonly DeviceRouteProtocol: number;
  readonly DeviceRouteSourceAddress: string;
  readonly DeviceRouteSourceAddressIPv6: string;
  readonly RemoveExternalRoutes: boolean;
  readonly IPv4NormalRoutePriority: number;
  readonly IPv6NormalRoutePriority: number;
  readonly IPv4ElevatedRoutePriority: number;
  readonly IPv6ElevatedRoutePriority: number;
  readonly LiveMigrationRouteConvergenceTime: number;
  readonly LocalSubnetL2Reachability: "Disabled" | "PodsAndLoadBalancers" | "";
  readonly LocalSubnetL2ReachabilityRefreshInterval: number;
  readonly NftablesRefreshInterval: number;
  readonly IpsetsRefreshInterval: number;
  readonly RouteRefreshInterval: number;
  readonly InterfaceRefreshInterval: number;
  readonly RouteSource: "CalicoIPAM" | "WorkloadIPs" | "";
  readonly ProgramClusterRoutes: "Enabled" | "Disabled" | "EnabledIPIPOnly" | "EnabledNoEncapOnly" | "";
  readonly IpInIpEnabled: boolean | undefined;
  readonly VXLANEnabled: boolean | undefined;
  readonly WireguardEnabled: boolean;
  readonly IstioAmbientMode: "Enabled" | "Disabled" | "";
  readonly IstioDSCPMark: number;
}

/** A 32-bit mask. Zero: 0. */
function mask(): ParameterType<number> {
  return {
    label: "32-bit mask",
    zero: 0,
    parse(value) {
      const number = /^(0x[0-9a-f]{1,8}|[0-9]{1,10})$/i.test(value) ? Number(value) : Number.NaN;
      return number <= 0xffffffff ? { ok: true, value: number } : { ok: false, problem: "is not a 32-bit mask" };
    },
    format: (value) => `0x${value.toString(16)}`,
  };
}

/** A code point by number or name. Zero: 0. */
function dscp(): ParameterType<number> {
  return {
    label: "DSCP, 0 to 63 or a name",
    zero: 0,
    parse(text) {
      const value = parseDscp(text);
      return value === undefined ? { ok: false, problem: "is no DSCP" } : { ok: true, value };
    },
    format: String,
  };
}

export const DATAPLANE_SETTINGS: ConfigTable<DataplaneSettings> = defineConfig<DataplaneSettings>({
  InterfacePrefix: {
    type: textList(),
    default: ["cali"],
    doc: "Interfaces of workloads begin with one of these.",
    nonZero: true,
  },
  Ipv6Support: { type: bool(), default: true, doc: "Program IPv6 too." },
  IPForwarding: {
    type: oneOf(["Enabled", "Disabled"]),
    default: "Enabled",
    doc: "Switch on the host's forwarding of packets. `Disabled` leaves it as the host has it.",
    nonZero: true,
  },
  NftablesMarkMask: {
    type: mask(),
    default: 0xffff0000,
    doc: "Bits of the packet mark that the ruleset may use; five at least.",
    nonZero: true,
  },
  NftablesFilterAllowAction: {
    type: oneOf(["ACCEPT", "RETURN"]),
    default: "ACCEPT",
    doc: "Verdict for allowed packets: final, or left to later rules.",
    nonZero: true,
  },
  NftablesMangleAllowAction: {
    type: oneOf(["ACCEPT", "RETURN"]),
    default: "ACCEPT",
    doc: "The same before routing.",
    nonZero: true,
  },
  NftablesFilterDenyAction: {
    type: oneOf(["DROP", "REJECT"]),
    default: "DROP",
    doc: "Verdict for denied packets.",
    nonZero: true,
  },
  DefaultEndpointToHostAction: {
    type: oneOf(["DROP", "RETURN", "ACCEPT"]),
    default: "DROP",
    doc: "What happens to packets from a workload to its own host that policy allows.",
    nonZero: true,
  },
  DisableConntrackInvalidCheck: {
    type: bool(),
    default: false,
    doc: "Do not drop packets that connection tracking finds invalid.",
  },
  WorkloadSourceSpoofing: {
    type: oneOf(["Disabled", "Any"]),
    default: "Disabled",
    doc: "Whether workloads may ask for foreign source addresses.",
  },
  AllowVXLANPacketsFromWorkloads: { type: bool(), default: false, doc: "Let workloads send VXLAN packets." },
  AllowIPIPPacketsFromWorkloads: { type: bool(), default: false, doc: "Let workloads send IPIP packets." },
  VXLANPort: { type: port(), default: 4789, doc: "UDP port of VXLAN.", nonZero: true },
  VXLANVNI: { type: int({ min: 1, max: 0xffffff }), default: 4096, doc: "Network identifier of VXLAN.", nonZero: true },
  VXLANMTU: {
    type: int({ min: 0, max: 65535 }),
    default: 0,
    doc: "MTU of the IPv4 VXLAN device; 0 for 50 below the host's.",
  },
  VXLANMTUV6: {
    type: int({ min: 0, max: 65535 }),
    default: 0,
    doc: "MTU of the IPv6 VXLAN device; 0 for 70 below the host's.",
  },
  IpInIpMtu: {
    type: int({ min: 0, max: 65535 }),
    default: 0,
    doc: "MTU of the IPIP device; 0 for 20 below the host's.",
  },
  WireguardEnabledV6: {
    type: bool(),
    default: false,
    doc: "Encrypt IPv6 between the workloads of hosts that have a key. The agent writes the public key of its own Node.",
  },
  WireguardHostEncryptionEnabled: {
    type: bool(),
    default: false,
    doc: "Encrypt what hosts send one another themselves, too; WireGuard's devices have no address then.",
  },
  WireguardThreadingEnabled: {
    type: bool(),
    default: false,
    doc: "Handle WireGuard's packets in kernel threads on all cores (threaded NAPI, Linux 5.12); needs a /sys that can be written.",
  },
  WireguardPersistentKeepAlive: {
    type: seconds(),
    default: 0,
    doc: "So often an empty packet goes to each host, in seconds; 0 for never.",
  },
  WireguardRoutingRulePriority: {
    type: int({ min: 1, max: 32765 }),
    default: 99,
    doc: "Priority of the routing rules that ask the tables of WireGuard.",
  },
  RouteTableRange: { type: text(), default: "", doc: "Older form of `RouteTableRanges`: one range." },
  RouteTableRanges: {
    type: text(),
    default: "",
    doc: "Routing tables for WireGuard, `1-250` or several ranges by commas: the first is IPv4's, the second IPv6's, and nobody else may use them.",
  },
  WireguardListeningPort: { type: port(), default: 51820, doc: "UDP port of WireGuard for IPv4.", nonZero: true },
  WireguardListeningPortV6: { type: port(), default: 51821, doc: "UDP port of WireGuard for IPv6.", nonZero: true },
  WireguardInterfaceName: {
    type: text(),
    default: "wireguard.cali",
    doc: "Device of WireGuard for IPv4.",
    nonZero: true,
  },
  WireguardInterfaceNameV6: {
    type: text(),
    default: "wg-v6.cali",
    doc: "Device of WireGuard for IPv6.",
    nonZero: true,
  },
  WireguardMTU: {
    type: int({ min: 0, max: 65535 }),
    default: 0,
    doc: "MTU of the IPv4 WireGuard device; 0 for 60 below the host's.",
  },
  WireguardMTUV6: {
    type: int({ min: 0, max: 65535 }),
    default: 0,
    doc: "MTU of the IPv6 WireGuard device; 0 for 80 below the host's.",
  },
  MTUFile: {
    type: file({ mustExist: false }),
    default: "/var/lib/calico/mtu",
    doc: "File that tells the CNI plugin the MTU of pods: the lowest of the tunnels that are on. `none` for none.",
  },
  EndpointStatusPathPrefix: {
    type: file({ mustExist: false }),
    default: "/var/run/calico",
    doc: "Directory above `endpoint-status`, which has a file for each workload endpoint whose policy and routes are in the kernel: the CNI plugin waits for it. `none` for no such files.",
  },
  MTUIfacePattern: {
    type: text(),
    default: "^((en|wl|ww|sl|ib)[Pcopsvx].*|(eth|wlan|wwan).*)",
    doc: "Interfaces whose lowest MTU is the host's.",
    nonZero: true,
  },
  ExternalNodesCIDRList: {
    type: text(),
    default: "",
    doc: "Networks of hosts outside of the cluster that may send tunnel packets to its hosts.",
  },
  InterfaceExclude: {
    type: text(),
    default: "kube-ipvs0",
    doc: "Interfaces whose addresses are not looked at: names, or patterns in slashes.",
  },
  NATPortRange: {
    type: text(),
    default: "",
    doc: "Source ports of outgoing NAT, `first:last`. Default: the kernel's choice.",
  },
  NATOutgoingAddress: {
    type: text(),
    default: "",
    doc: "Source address of outgoing NAT. Default: that of the interface.",
  },
  IptablesNATOutgoingInterfaceFilter: {
    type: text(),
    default: "",
    doc: "Outgoing NAT only by this interface; `eth+` stands for all that begin so. Default: by all.",
  },
  FloatingIPs: {
    type: oneOf(["Disabled", "Enabled"]),
    default: "Disabled",
    doc: "Addresses of the outside lead to the workloads that have them.",
    nonZero: true,
  },
  FailsafeInboundHostPorts: {
    type: text(),
    default: "tcp:22,udp:68,tcp:179,tcp:2379,tcp:2380,tcp:5473,tcp:6443,tcp:6666,tcp:6667",
    doc: "Ports of the host that stay reachable whatever the policy: `protocol:port`, or `protocol:net:port` for peers inside a network. `none` for none.",
  },
  FailsafeOutboundHostPorts: {
    type: text(),
    default: "udp:53,udp:67,tcp:179,tcp:2379,tcp:2380,tcp:5473,tcp:6443,tcp:6666,tcp:6667",
    doc: "The same for connections that the host makes.",
  },
  LogPrefix: { type: text(), default: "calico-packet", doc: "Prefix of the lines of `Log` rules." },
  LogActionRateLimit: {
    type: text(),
    default: "",
    doc: "Most lines of `Log` rules: `N/second`, `N/minute`, `N/hour` or `N/day`. Default: no limit.",
  },
  LogActionRateLimitBurst: {
    type: int({ min: 1, max: 9999 }),
    default: 5,
    doc: "Lines beyond the rate that a burst may have.",
  },
  NFTablesFlowTableOffload: {
    type: oneOf(["Disabled", "All"]),
    default: "Disabled",
    doc: "`All`: established flows of workloads go by a flow table, past the rules, where the kernel is Linux 6.4 or newer and has them. Not those of endpoints with a DSCP, a bound of packets or of connections.",
  },
  NFTablesFlowTableDataIfacePattern: {
    type: text(),
    default: "",
    doc: "Interfaces of the host that are devices of the flow table, as a regular expression; the default is that of MTUIfacePattern.",
  },
  FlowLogsLocalReporter: {
    type: oneOf(["Disabled", "Enabled"]),
    default: "Disabled",
    doc: "Keep the flows that rules deny or log, by tier, policy and rule, for `bulrushctl flows`. At most 10 packets a second of each rule are looked at.",
  },
  ServiceLoopPrevention: {
    type: oneOf(["Drop", "Reject", "Disabled"]),
    default: "Drop",
    doc: "What happens to packets to service addresses that no service takes.",
  },
  ClusterType: {
    type: text(),
    default: "",
    doc: "What the cluster is made of, in words with commas between; ClusterInformation tells it. `openstack` and `aks` change what a host does.",
  },
  MetadataAddr: {
    type: text(),
    default: "127.0.0.1",
    doc: "Where OpenStack's metadata service listens; `none` for none. Of use where workloads are OpenStack's: an address other than this one says so, as do a `ClusterType` with openstack in it and the interface prefix `tap`.",
  },
  MetadataPort: { type: port(), default: 8775, doc: "Its port.", nonZero: true },
  NATOutgoingExclusions: {
    type: oneOf(["IPPoolsOnly", "IPPoolsAndHostIPs"]),
    default: "IPPoolsOnly",
    doc: "Destinations that outgoing NAT leaves alone.",
  },
  RouteSyncDisabled: {
    type: bool(),
    default: false,
    doc: "Write and remove no routes (policy only); WireGuard stays off.",
  },
  DeviceRouteProtocol: {
    type: int({ min: 1, max: 255 }),
    default: 3,
    doc: "Protocol number of our routes.",
    nonZero: true,
  },
  DeviceRouteSourceAddress: { type: text(), default: "", doc: "Preferred source address of IPv4 workload routes." },
  DeviceRouteSourceAddressIPv6: { type: text(), default: "", doc: "Preferred source address of IPv6 workload routes." },
  RemoveExternalRoutes: {
    type: bool(),
    default: true,
    doc: "Remove routes on workload interfaces that no workload explains, whoever made them.",
  },
  IPv4NormalRoutePriority: {
    type: int({ min: 1, max: 2147483646 }),
    default: 1024,
    doc: "Metric of IPv4 workload routes.",
  },
  IPv6NormalRoutePriority: {
    type: int({ min: 1, max: 2147483646 }),
    default: 1024,
    doc: "Metric of IPv6 workload routes.",
  },
  IPv4ElevatedRoutePriority: {
    type: int({ min: 1, max: 2147483646 }),
    default: 512,
    doc: "Metric of IPv4 routes to machines that have just moved here by live migration.",
  },
  IPv6ElevatedRoutePriority: {
    type: int({ min: 1, max: 2147483646 }),
    default: 512,
    doc: "The same for IPv6.",
  },
  LocalSubnetL2Reachability: {
    type: oneOf(["Disabled", "PodsAndLoadBalancers"]),
    default: "Disabled",
    doc: "Whether the host answers ARP and neighbour discovery on its own networks for those of its pods, and for its share of load balancers' addresses, that lie in such a network and in a pool without encapsulation. Needs NET_RAW.",
  },
  LocalSubnetL2ReachabilityRefreshInterval: {
    type: seconds(),
    default: 120,
    doc: "How often these addresses are announced to the network unasked; 0 for only when they come.",
  },
  LiveMigrationRouteConvergenceTime: {
    type: seconds(),
    default: 30,
    doc: "Time after the end of a live migration for which the machine's routes keep that metric, in seconds.",
  },
  NftablesRefreshInterval: {
    type: seconds(),
    default: 180,
    doc: "Time between full comparisons with the kernel's tables, in seconds; 0 or less switches them off.",
  },
  IpsetsRefreshInterval: { type: seconds(), default: 90, doc: "The same for the sets' members." },
  RouteRefreshInterval: { type: seconds(), default: 90, doc: "The same for routes." },
  InterfaceRefreshInterval: { type: seconds(), default: 90, doc: "The same for the list of interfaces." },
  RouteSource: {
    type: oneOf(["CalicoIPAM", "WorkloadIPs"]),
    default: "CalicoIPAM",
    doc: "What routes to workloads come from.",
  },
  ProgramClusterRoutes: {
    type: oneOf(["Enabled", "Disabled", "EnabledIPIPOnly", "EnabledNoEncapOnly"]),
    default: "EnabledIPIPOnly",
    doc: "Which routes to other hosts' workloads the agent writes itself.",
  },
  IpInIpEnabled: { type: optional(bool()), default: undefined, doc: "IPIP on or off whatever the pools say." },
  VXLANEnabled: {
    type: optional(bool()),
    default: undefined,
    doc: "VXLAN on or off whatever the pools say; a pool with IPv6 VXLAN keeps it on for IPv6.",
  },
  WireguardEnabled: {
    type: bool(),
    default: false,
    doc: "Encrypt IPv4 between the workloads of hosts that have a key. The agent writes the public key of its own Node.",
  },
  IstioAmbientMode: {
    type: oneOf(["Enabled", "Disabled"]),
    default: "Disabled",
    doc: "Mark workloads that take part in Istio's ambient mode, and connections between them (`IstioDSCPMark`).",
  },
  IstioDSCPMark: {
    type: dscp(),
    default: 23,
    doc: "DSCP of the first packet of each TCP connection between two workloads of Istio's ambient mode.",
  },
});
