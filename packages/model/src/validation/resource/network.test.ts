import { describeRows, type Row } from "./describe-rows.ts";
import { made } from "./made.ts";

function row(kind: string, spec: object, ...paths: string[]): Row {
  return [made(kind, spec), ...paths.map((path) => `spec.${path}`)];
}

describeRows("pools", [
  row("IPPool", { cidr: "10.0.0.0/26" }),
  row("IPPool", { cidr: "10.0.0.0/27" }, "cidr"),
  row("IPPool", { cidr: "10.0.0.0/27", blockSize: 27 }),
  row("IPPool", { cidr: "10.0.0.0/27", blockSize: 26 }, "cidr"),
  row("IPPool", { cidr: "10.0.0.0/16", blockSize: 19 }, "blockSize"),
  row("IPPool", { cidr: "10.0.0.0/16", blockSize: 33 }, "blockSize"),
  row("IPPool", { cidr: "fd00::/122" }),
  row("IPPool", { cidr: "fd00::/123" }, "cidr"),
  row("IPPool", { cidr: "fd00::/64", blockSize: 116 }),
  row("IPPool", { cidr: "fd00::/64", blockSize: 26 }, "blockSize"),
  row("IPPool", { cidr: "10.0.0.1/16" }, "cidr"),
  row("IPPool", { cidr: "169.254.5.0/24" }, "cidr"),
  row("IPPool", { cidr: "fe80::/64" }, "cidr"),
  row("IPPool", {}, "cidr"),
  row("IPPool", { cidr: "10.0.0.0/16", ipipMode: "Always", vxlanMode: "Never" }),
  row("IPPool", { cidr: "10.0.0.0/16", ipipMode: "Always", vxlanMode: "CrossSubnet" }, "vxlanMode"),
  row("IPPool", { cidr: "10.0.0.0/16", ipipMode: "always" }, "ipipMode"),
  row("IPPool", { cidr: "fd00::/64", ipipMode: "Always" }, "ipipMode"),
  row("IPPool", { cidr: "fd00::/64", vxlanMode: "Always" }),
  row("IPPool", { cidr: "10.0.0.0/16", nodeSelector: "(" }, "nodeSelector"),
  row("IPPool", { cidr: "10.0.0.0/16", natOutgoing: "yes" }, "natOutgoing"),
  row("IPPool", { cidr: "10.0.0.0/16", allowedUses: ["Workload", "Tunnel"] }),
  row("IPPool", { cidr: "10.0.0.0/16", allowedUses: ["Workload", "Workload"] }, "allowedUses[1]"),
  row("IPPool", { cidr: "10.0.0.0/16", allowedUses: ["LoadBalancer"], nodeSelector: "all()" }),
  row("IPPool", { cidr: "10.0.0.0/16", allowedUses: ["LoadBalancer", "Tunnel"] }, "allowedUses"),
  row("IPPool", { cidr: "10.0.0.0/16", allowedUses: ["LoadBalancer"], vxlanMode: "Always" }, "allowedUses"),
  row("IPPool", { cidr: "10.0.0.0/16", allowedUses: ["LoadBalancer"], disableBGPExport: true }, "disableBGPExport"),
  row("IPPool", { cidr: "10.0.0.0/16", allowedUses: ["LoadBalancer"], nodeSelector: "has(a)" }, "nodeSelector"),
]);

describeRows("host endpoints", [
  row("HostEndpoint", { node: "n", interfaceName: "eth0", ports: [{ name: "http", protocol: "TCP", port: 80 }] }),
  row("HostEndpoint", { node: "n", interfaceName: "*", profiles: ["projectcalico-default-allow"] }),
  row("HostEndpoint", { node: "n", expectedIPs: ["10.0.0.1", "fd00::1"] }),
  row("HostEndpoint", { node: "n" }, "interfaceName"),
  row("HostEndpoint", { interfaceName: "eth0" }, "node"),
  row("HostEndpoint", { node: "n", interfaceName: "sixteen-letters0" }, "interfaceName"),
  row("HostEndpoint", { node: "n", expectedIPs: ["10.0.0.1/32"] }, "expectedIPs[0]"),
  row(
    "HostEndpoint",
    { node: "n", interfaceName: "eth0", ports: [{ name: "http", protocol: "TCP", port: 0 }] },
    "ports[0].port",
  ),
  row(
    "HostEndpoint",
    { node: "n", interfaceName: "eth0", ports: [{ name: "http", protocol: "ICMP", port: 1 }] },
    "ports[0].protocol",
  ),
  row("HostEndpoint", { node: "n", interfaceName: "eth0", ports: [{ protocol: "TCP", port: 1 }] }, "ports[0].name"),
]);

describeRows("configuration", [
  row("FelixConfiguration", { logSeverityScreen: "Info", someNewField: 1 }),
  row("FelixConfiguration", { nodeSelector: "has(a)" }),
  row("FelixConfiguration", { nodeSelector: "(" }, "nodeSelector"),
  ...["default", "node.h"].map(
    (name): Row => [
      made("FelixConfiguration", { nodeSelector: "has(a)" }, { metadata: { name } }),
      "spec.nodeSelector",
    ],
  ),
  row("FelixConfiguration", { routeTableRange: { min: 1, max: 250 } }),
  row("FelixConfiguration", { routeTableRange: { min: 0, max: 250 } }, "routeTableRange.min"),
  row("FelixConfiguration", { routeTableRange: { min: 1, max: 251 } }, "routeTableRange.max"),
  row("FelixConfiguration", { routeTableRange: { min: 9, max: 8 } }, "routeTableRange"),
  row("FelixConfiguration", { routeTableRanges: [{ min: 43, max: 211 }] }),
  row("FelixConfiguration", { routeTableRanges: [{ min: 1, max: 65_535 }] }),
  row(
    "FelixConfiguration",
    {
      routeTableRanges: [
        { min: 1, max: 65_535 },
        { min: 100_000, max: 100_000 },
      ],
    },
    "routeTableRanges",
  ),
  row(
    "FelixConfiguration",
    { routeTableRange: { min: 1, max: 2 }, routeTableRanges: [{ min: 1, max: 2 }] },
    "routeTableRanges",
  ),
  row("FelixConfiguration", { kubeNodePortRanges: ["30000:32767", 80] }),
  row("FelixConfiguration", { kubeNodePortRanges: ["http"] }, "kubeNodePortRanges[0]"),
  row("FelixConfiguration", { kubeNodePortRanges: [1, 2, 3, 4, 5, 6, 7, 8] }, "kubeNodePortRanges"),
  row("FelixConfiguration", { externalNodesList: ["10.0.0.1", "fd00::1"] }, "externalNodesList[1]"),
  row("FelixConfiguration", { openstackRegion: "r".repeat(46) }),
  row("FelixConfiguration", { openstackRegion: "r".repeat(47) }, "openstackRegion"),
  row("FelixConfiguration", { bpfDataIfacePattern: "^eth.*" }),
  row("FelixConfiguration", { bpfDataIfacePattern: "*" }, "bpfDataIfacePattern"),
  row("FelixConfiguration", { mtuIfacePattern: "(?i)^(?P<kind>en|eth).*" }),
  ...["bpfL3IfacePattern", "mtuIfacePattern", "nftablesFlowTableDataIfacePattern", "logDebugFilenameRegex"].flatMap(
    (field) => [
      row("FelixConfiguration", { [field]: "^eth[0-9]+$" }),
      row("FelixConfiguration", { [field]: "(" }, field),
      row("FelixConfiguration", { [field]: 5 }, field),
    ],
  ),
  row("FelixConfiguration", { interfaceExclude: "kube-ipvs0,/^veth.*/" }),
  row("FelixConfiguration", { interfaceExclude: "/*/" }, "interfaceExclude"),
  row("FelixConfiguration", { wireguardRoutingRulePriority: 32_765 }),
  row("FelixConfiguration", { wireguardRoutingRulePriority: 32_766 }, "wireguardRoutingRulePriority"),
  row("FelixConfiguration", { failsafeInboundHostPorts: [{ protocol: "tcp", port: 22, net: "10.0.0.0/8" }] }),
  row("FelixConfiguration", { failsafeInboundHostPorts: [{ port: 22, net: "x" }] }, "failsafeInboundHostPorts[0].net"),
  row(
    "FelixConfiguration",
    { failsafeOutboundHostPorts: [{ protocol: "x", port: 1 }] },
    "failsafeOutboundHostPorts[0].protocol",
  ),
  row("FelixConfiguration", { healthTimeoutOverrides: [{ name: "a", timeout: "20s" }] }),
  row("FelixConfiguration", { healthTimeoutOverrides: [{ name: "a" }] }, "healthTimeoutOverrides[0].timeout"),
]);

describeRows("nodes and BGP", [
  row("Node", { bgp: { ipv4Address: "10.0.0.1/24", asNumber: 64_512 }, addresses: [{ address: "10.0.0.1" }] }),
  row("Node", { bgp: { asNumber: "1.1" } }),
  row("Node", { bgp: {} }, "bgp"),
  row("Node", { bgp: { ipv4Address: "fd00::1" } }, "bgp.ipv4Address"),
  row("Node", { bgp: { ipv6Address: "10.0.0.1" } }, "bgp.ipv6Address"),
  row("Node", { bgp: { routeReflectorClusterID: "300.34.3.1" } }, "bgp.routeReflectorClusterID"),
  row("Node", { bgp: { asNumber: 0 } }, "bgp.asNumber"),
  row("Node", { ipv4VXLANTunnelAddr: "10.0.0.1/32" }, "ipv4VXLANTunnelAddr"),
  row("Node", { addresses: [{ address: "" }] }, "addresses[0].address"),
  [made("Node", {}, { status: { wireguardPublicKey: "x" } }), "status.wireguardPublicKey"],
  row("BGPPeer", { peerIP: "10.0.0.1", asNumber: 64_512 }),
  row("BGPPeer", { peerIP: "10.0.0.1:179" }),
  row("BGPPeer", { peerIP: "[fd00::1]:179" }),
  row("BGPPeer", { peerIP: "192.168.0.0:" }, "peerIP"),
  row("BGPPeer", { peerIP: "[9000::]:65536" }, "peerIP"),
  row("BGPPeer", { peerIP: "10.0.0.1:0" }, "peerIP"),
  row("BGPPeer", { node: "n", nodeSelector: "all()" }, "nodeSelector"),
  row("BGPPeer", { peerSelector: "all()", peerIP: "10.0.0.1", asNumber: 1 }, "peerIP", "asNumber"),
  row("BGPPeer", { localWorkloadSelector: "all()" }, "asNumber"),
  row("BGPPeer", { peerIP: "10.0.0.1", reachableBy: "10.0.0.2" }),
  row("BGPPeer", { peerIP: "10.0.0.1", reachableBy: "fd00::1" }, "reachableBy"),
  row("CalicoNodeStatus", { node: "n", classes: ["Agent", "BGP"], updatePeriodSeconds: 86_400 }),
  row(
    "CalicoNodeStatus",
    { node: "n", classes: ["Agent", "Agent"], updatePeriodSeconds: 86_401 },
    "classes[1]",
    "updatePeriodSeconds",
  ),
  row("CalicoNodeStatus", {}, "node"),
]);

const POD = { node: "n", interfaceName: "cali1", ipNetworks: ["10.0.0.1/32", "fd00::1"] };

describeRows("workload endpoints", [
  row("WorkloadEndpoint", POD),
  row("WorkloadEndpoint", { ...POD, ipNetworks: ["10.0.0.0/24"] }, "ipNetworks[0]"),
  row("WorkloadEndpoint", { ...POD, ipNATs: [{ internalIP: "10.0.0.1", externalIP: "1.1.1.1" }] }),
  row(
    "WorkloadEndpoint",
    { ...POD, ipNATs: [{ internalIP: "10.0.0.2", externalIP: "1.1.1.1" }] },
    "ipNATs[0].internalIP",
  ),
  row(
    "WorkloadEndpoint",
    { ...POD, ipNATs: [{ internalIP: "fd00::1", externalIP: "1.1.1.1" }] },
    "ipNATs[0].externalIP",
  ),
  row(
    "WorkloadEndpoint",
    { ...POD, ipNATs: [{ internalIP: "10.0.0.1/32" }] },
    "ipNATs[0].internalIP",
    "ipNATs[0].externalIP",
  ),
  row("WorkloadEndpoint", { ...POD, node: "N" }, "node"),
  row("WorkloadEndpoint", { ...POD, interfaceName: "sixteen-letters0" }, "interfaceName"),
  row("WorkloadEndpoint", { ...POD, ipv4Gateway: "fd00::2", ipv6Gateway: "fd00::2" }, "ipv4Gateway"),
  row("WorkloadEndpoint", { ...POD, ports: [{ protocol: "TCP", port: 80, hostPort: 8080, hostIP: "10.0.0.9" }] }),
  row("WorkloadEndpoint", { ...POD, ports: [{ name: "http", protocol: "TCP", port: 0 }] }, "ports[0].port"),
]);
