/** By kind of field. */
export interface OddValues {
  readonly interfaceName: readonly string[];
  readonly number: readonly number[];
  readonly port: readonly (string | number)[];
  readonly net: readonly string[];
  readonly protocol: readonly (string | number | null)[];
  readonly selector: readonly string[];
  readonly name: readonly string[];
  readonly address: readonly string[];
  readonly quantity: readonly string[];
}

/** What nobody expects in a field, beside what is usual there. */
export const ODD: OddValues = {
  interfaceName: [
    "cali1",
    "caliABCDEFGHIJK",
    "cali-name-that-is-too-long",
    "cali/x",
    "cali x",
    'cali"q',
    "califé",
    "",
    "*",
    "@set",
    "cali\n",
  ],
  number: [0, 1, -1, 63, 64, 255, 256, 65_535, 65_536, 4_294_967_296, 1e18, 2 ** 53, 1.5],
  port: [0, 1, 65_535, 65_536, "80", "80:90", "90:80", "0:65535", "named", ":", "80:", -1],
  net: [
    "0.0.0.0/0",
    "::/0",
    "10.0.0.1",
    "10.0.0.1/8",
    "fd00::1/128",
    "::ffff:1.2.3.4/128",
    "10.0.0.0/33",
    "x",
    "",
    "0.0.0.0/1",
    "128.0.0.0/1",
  ],
  protocol: ["TCP", "UDP", "SCTP", "ICMP", "ICMPv6", "UDPLite", "tcp", 0, 6, 58, 255, 256, "6", "GRE", "", null],
  selector: [
    "all()",
    "",
    "app == 'a'",
    "!has(x)",
    "app in {'a','b'}",
    "app == 'é'",
    "global()",
    `x == '${"y".repeat(200)}'`,
    "a ==",
    "app not in {}",
  ],
  name: ["p", "a".repeat(253), "p.q", "knp.default.x", "é", "P", 'p"q', "p q", "p\n", "%n"],
  address: [
    "10.0.0.1/32",
    "10.0.0.2/32",
    "fd00::1/128",
    "::/128",
    "0.0.0.0/32",
    "127.0.0.1/32",
    "fe80::1/128",
    "255.255.255.255/32",
  ],
  quantity: ["1", "0", "-1", "1500m", "1e30", "10M", "x", "", "9223372036854775807"],
};

/** Settings, and what somebody may write there. */
export const ODD_SETTINGS: Readonly<Record<string, readonly string[]>> = {
  FloatingIPs: ["Enabled", "Disabled", "perhaps"],
  WorkloadSourceSpoofing: ["Any", "Disabled", ""],
  ServiceLoopPrevention: ["Drop", "Reject", "Disabled", "0"],
  LogPrefix: ["calico-packet", "%t|%k|%n|%p".repeat(12), 'é"', "none"],
  LogActionRateLimit: ["10/second", "1/day", "10000000/second", "x"],
  NftablesFilterDenyAction: ["Drop", "Reject", "Return"],
  NftablesMarkMask: ["0xffff0000", "0x80000000", "0x1", "0", "-1", "0x1ffffffff"],
  NATPortRange: ["0:65535", "1000:2000", "2000:1000", "x"],
  NATOutgoingAddress: ["1.2.3.4", "fd00::1", "x"],
  IptablesNATOutgoingInterfaceFilter: ["eth0", "eth+", "x y", "an-interface-of-a-long-name"],
  InterfacePrefix: ["cali", "cali,tap", "a-prefix-that-is-too-long", "*"],
  FailsafeInboundHostPorts: ["none", "tcp:0.0.0.0/0:22,udp:68", "tcp:[::/0]:22", "tcp:0", "sctp:9", "icmp:1"],
  ExternalNodesCIDRList: ["10.0.0.0/8,10.1.0.0/16", "fd00::/8,10.0.0.1", "x"],
  VXLANPort: ["4789", "0", "65536"],
  MetadataPort: ["8775", "0", "65536"],
  FlowLogsLocalReporter: ["Enabled", "Disabled"],
};
