/** A host port that stays open whatever the policy. */
export interface FailsafePort {
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly port: number;
  /** Only for peers inside this network; absent for all. */
  readonly net?: string;
}

/** `rate` log lines a unit. */
export interface LogRateLimit {
  readonly rate: number;
  readonly unit: "second" | "minute" | "hour" | "day";
}

/** The mark bits that the ruleset uses, taken from the mask from the lowest bit up. */
export interface MarkBits {
  /** Policy has allowed the packet. */
  readonly accept: number;
  /** A rule has passed the packet on to the next tier. */
  readonly pass: number;
  /** Reserved, as in the reference system. */
  readonly drop: number;
  /** The packet matches all blocks of the rule so far; in raw: it came from a workload. */
  readonly scratch0: number;
  /** The packet matches the block at hand. */
  readonly scratch1: number;
}

/**
 * Every setting that changes what the dataplane programs. The settings they come from, with names and defaults, are in
 * parse-config.ts. Times are milliseconds; 0 switches a timer off.
 */
export interface DataplaneConfig {
  /** Interface names of workloads begin with one of these. */
  readonly interfacePrefixes: readonly string[];
  /** Interfaces whose addresses do not count when host endpoints are matched: names, or patterns as /.../. */
  readonly interfaceExclude: readonly (string | RegExp)[];
  /** False: no table and no route of IPv6. */
  readonly ipv6Support: boolean;
  /** The host is made a router. */
  readonly ipForwarding: boolean;
  readonly marks: MarkBits;
  /** What happens to packets from a workload to its own host that policy allows. */
  readonly endpointToHostAction: "DROP" | "RETURN" | "ACCEPT";
  /** Verdict for allowed packets: final, or left to later rules of the same hook. */
  readonly filterAllowAction: "ACCEPT" | "RETURN";
  readonly mangleAllowAction: "ACCEPT" | "RETURN";
  /** What denied packets get: nothing, or an answer that says so. */
  readonly denyAction: "DROP" | "REJECT";
  /** True: packets that conntrack makes nothing of are not dropped. */
  readonly disableConntrackInvalidCheck: boolean;
  /** Workloads may use the source networks that their annotation names. */
  readonly allowSpoofedSources: boolean;
  readonly allowVxlanFromWorkloads: boolean;
  readonly allowIpipFromWorkloads: boolean;
  /** UDP port, of this host's end and of all others. */
  readonly vxlanPort: number;
  /** This host's own name; "" when nobody has said it. Without it, no tunnel and no route to other hosts. */
  readonly hostname: string;
  /** VXLAN network identifier; one for the cluster. */
  readonly vxlanVni: number;
  /** By family; 0: from the host's interfaces. */
  readonly vxlanMtu: { readonly 4: number; readonly 6: number };
  /** 0: from the host's interfaces. */
  readonly ipipMtu: number;
  /** By family; 0: from the host's interfaces. */
  readonly wireguardMtu: { readonly 4: number; readonly 6: number };
  /** Traffic between hosts is encrypted, by family. */
  readonly wireguard: { readonly 4: boolean; readonly 6: boolean };
  /** UDP port of WireGuard, by family. */
  readonly wireguardPort: { readonly 4: number; readonly 6: number };
  /** Name of its device, by family. */
  readonly wireguardDevice: { readonly 4: string; readonly 6: string };
  /** Bit of the mark of WireGuard's own packets, and of those that must not go through it. 0 without WireGuard. */
  readonly wireguardMark: number;
  /** What hosts send one another themselves is encrypted too. */
  readonly wireguardHostEncryption: boolean;
  /** Packets of WireGuard are handled by threads of their own, on all cores, rather than where they come in. */
  readonly wireguardThreading: boolean;
  /** The cluster is one of Azure's (AKS), whose network takes room of its own. */
  readonly isAks: boolean;
  /** So often an empty packet goes to each host. 0: never. */
  readonly wireguardKeepaliveSeconds: number;
  /** Priority of the rules that ask the tables of WireGuard. */
  readonly wireguardRulePriority: number;
  /** Number of the routing table of WireGuard, by family. Nobody else may use it. */
  readonly wireguardTables: { readonly 4: number; readonly 6: number };
  /** The directory above the one with a file for each endpoint that is up; "" for no such files. */
  readonly endpointStatusPrefix: string;
  /** The file with the MTU for pods; "" for none. */
  readonly mtuFile: string;
  /** Interfaces whose MTU counts for that of tunnels. */
  readonly mtuInterfacePattern: RegExp;
  /** Networks of hosts outside of the cluster that may send to its tunnels. */
  readonly externalNodes: readonly string[];
  /** Which routes to other hosts' workloads are ours to write, beside those of VXLAN. */
  readonly clusterRoutes: { readonly ipip: boolean; readonly noEncap: boolean };
  /** What the first packet of a connection within an ambient mesh gets, 0 to 63. */
  readonly ambientDscp: number;
  /** Ports of this host that policy of host endpoints never closes. */
  readonly failsafeInbound: readonly FailsafePort[];
  /** The same for ports of others. */
  readonly failsafeOutbound: readonly FailsafePort[];
  /** Ahead of each line of a Log rule. */
  readonly logPrefix: string;
  /** Absent: every packet of a Log rule is logged. */
  readonly logRateLimit: LogRateLimit | undefined;
  /** Lines at once before the limit counts. 1 to 9999. */
  readonly logBurst: number;
  /** Established flows of workloads go by a flow table, past the rules. */
  readonly flowOffload: boolean;
  /** Interfaces of the host that are devices of the flow table, besides those of workloads and tunnels. */
  readonly flowOffloadInterfaces: RegExp;
  /** Packets of denying and logging rules are handed up to the flow log. */
  readonly flowLog: boolean;
  /** What becomes of packets to service addresses that no rule of a proxy has translated. */
  readonly serviceLoopPrevention: "Drop" | "Reject" | "Disabled";
  /** Destinations that are not masqueraded: addresses of pools, or those of hosts too. */
  readonly natOutgoingExclusions: "IPPoolsOnly" | "IPPoolsAndHostIPs";
  /** Source ports of masqueraded packets; absent for any. */
  readonly natPorts: { readonly first: number; readonly last: number } | undefined;
  /** What workloads leave the cluster with; absent for the address of the interface. */
  readonly natAddress: string | undefined;
  /** Only packets that leave by this interface are masqueraded: a name, or with `+` at its end a prefix. "" for all. */
  readonly natInterface: string;
  /** Addresses of the outside that lead to workloads. Those of OpenStack do so without it. */
  readonly floatingIps: boolean;
  /** Workloads are OpenStack's: what these need of their host is open. Absent elsewhere. */
  readonly openstack: OpenstackConfig | undefined;
  /** True: no route and no neighbour entry is written or removed. */
  readonly routeSyncDisabled: boolean;
  /** RTPROT_ number of our routes: those that others carry are not ours. */
  readonly deviceRouteProtocol: number;
  /** Preferred source of workload routes; absent: as the kernel chooses. */
  readonly deviceRouteSourceAddress: string | undefined;
  readonly deviceRouteSourceAddressV6: string | undefined;
  /** On workload interfaces, routes of any origin that no endpoint explains are removed too. */
  readonly removeExternalRoutes: boolean;
  /** Metric of workload routes, by family. */
  readonly routePriority: { readonly 4: number; readonly 6: number };
  /** The same for machines that have just moved here: a lower metric wins. */
  readonly elevatedRoutePriority: { readonly 4: number; readonly 6: number };
  /** How long a machine that has moved here keeps it. */
  readonly liveMigrationConvergenceMs: number;
  /** This host answers ARP and neighbour discovery for what its networks should find here: its pods, and its share of services. */
  readonly localReachability: boolean;
  /** So often it tells these networks unasked. */
  readonly localReachabilityRefreshMs: number;
  /** Time between read-backs of the tables; so of sets, routes and interfaces' settings in the next three. */
  readonly nftablesRefreshMs: number;
  readonly ipsetsRefreshMs: number;
  readonly routeRefreshMs: number;
  readonly interfaceRefreshMs: number;
}

export interface OpenstackConfig {
  /** Where the metadata service listens on this host; absent where there is none. */
  readonly metadata: { readonly address: string; readonly port: number } | undefined;
}
