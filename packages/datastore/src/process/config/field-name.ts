/** First words of fields that the field's own language writes in capitals. */
const CAPITALS: Readonly<Record<string, string>> = {
  aws: "AWS",
  bpf: "BPF",
  icmp: "ICMP",
  ip: "IP",
  ipip: "IPIP",
  ipv: "IPv",
  mtu: "MTU",
  nat: "NAT",
  nftables: "NFTables",
  tcp: "TCP",
  udp: "UDP",
  vxlan: "VXLAN",
  xdp: "XDP",
};

/** Parameters whose name differs from their field. */
const RENAMED: Readonly<Record<string, string>> = {
  externalNodesList: "ExternalNodesCIDRList",
  ipv6Support: "Ipv6Support",
  ipipEnabled: "IpInIpEnabled",
  ipipMTU: "IpInIpMtu",
  iptablesPostWriteCheckInterval: "IptablesPostWriteCheckIntervalSecs",
  iptablesLockProbeInterval: "IptablesLockProbeIntervalMillis",
  netlinkTimeout: "NetlinkTimeoutSecs",
  reportingInterval: "ReportingIntervalSecs",
  reportingTTL: "ReportingTTLSecs",
  endpointReportingDelay: "EndpointReportingDelaySecs",
  usageReportingInitialDelay: "UsageReportingInitialDelaySecs",
  usageReportingInterval: "UsageReportingIntervalSecs",
};

/** `bpfConntrackMode` as `BPFConntrackMode`. */
export function capitalise(field: string): string {
  const word = /^[a-z]+/.exec(field)?.[0] ?? "";
  const known = CAPITALS[word];
  return known === undefined ? field.slice(0, 1).toUpperCase() + field.slice(1) : known + field.slice(word.length);
}

/** The name of the parameter that a field of FelixConfiguration sets. */
export function parameterName(field: string): string {
  return Object.hasOwn(RENAMED, field) ? (RENAMED[field] as string) : capitalise(field);
}
