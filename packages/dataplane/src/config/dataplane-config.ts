/** What a rule list says about one host port that stays open whatever the policy. */
export interface FailsafePort {
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly port: number;
  /** Only for peers inside this network; absent for all. */
  readonly net?: string;
}

/** `N` log lines a unit. */
export interface LogRateLimit {
  readonly rate: number;
  readonly unit: "second" | "minute" | "hour" | "day";
}

/** The mark bits that the ruleset uses, taken from the mask from the lowest bit up. */
export interface MarkBits {
  readonly accept: number;
  readonly pass: number;
  readonly drop: number;
  readonly scratch0: number;
  readonly scratch1: number;
}

/**
 * Every setting that changes what the dataplane programs. Names follow the FelixConfiguration settings they come from
 * (see settings.ts for names and defaults); times are milliseconds, 0 switches a timer off.
 */
export interface DataplaneConfig {
  /** Interface names of workloads begin with one of these. Default `cali`. */
  readonly interfacePrefixes: readonly string[];
  readonly ipv6Support: boolean;
  readonly marks: MarkBits;
  /** What happens to packets from a workload to its own host that policy allows. Default DROP. */
  readonly endpointToHostAction: "DROP" | "RETURN" | "ACCEPT";
  /** Verdict for allowed packets: final, or handed to later rules of the same hook. */
  readonly filterAllowAction: "ACCEPT" | "RETURN";
  readonly mangleAllowAction: "ACCEPT" | "RETURN";
  readonly denyAction: "DROP" | "REJECT";
  readonly disableConntrackInvalidCheck: boolean;
  readonly allowSpoofedSources: boolean;
  readonly allowVxlanFromWorkloads: boolean;
  readonly allowIpipFromWorkloads: boolean;
  readonly vxlanPort: number;
  readonly failsafeInbound: readonly FailsafePort[];
  readonly failsafeOutbound: readonly FailsafePort[];
  readonly logPrefix: string;
  readonly logRateLimit: LogRateLimit | undefined;
  readonly logBurst: number;
  /** Sends one NFLOG message for each verdict of a policy rule (groups 1 and 2). Default off. */
  readonly flowLogs: boolean;
  readonly serviceLoopPrevention: "Drop" | "Reject" | "Disabled";
  readonly natOutgoingExclusions: "IPPoolsOnly" | "IPPoolsAndHostIPs";
  readonly natPortRange: { readonly first: number; readonly last: number } | undefined;
  readonly natOutgoingAddress: string | undefined;
  /** True when nothing may be written by rtnetlink: no routes, no neighbours. */
  readonly routeSyncDisabled: boolean;
  readonly deviceRouteProtocol: number;
  readonly deviceRouteSourceAddress: string | undefined;
  readonly deviceRouteSourceAddressV6: string | undefined;
  readonly removeExternalRoutes: boolean;
  readonly normalRoutePriority: number;
  readonly nftablesRefreshMs: number;
  readonly ipsetsRefreshMs: number;
  readonly routeRefreshMs: number;
  readonly interfaceRefreshMs: number;
  readonly ipForwarding: boolean;
}
