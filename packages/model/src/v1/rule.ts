/** `80`, `"8000:8999"` (inclusive) or the name of a port. */
export type Port = number | string;

/** A protocol number (1-255) or a lower-case name: tcp, udp, icmp, icmpv6, sctp, udplite. */
export type Protocol = number | string;

/**
 * A v1 rule, in the JSON names of the datastore. Every field is a condition and all must hold; a list holds when one
 * of its values does. An absent field (or empty list) is no condition.
 */
export interface Rule {
  /** "" means allow. */
  readonly action?: "allow" | "deny" | "log" | "next-tier" | "pass" | "";
  /** Default: both; a protocol of one family alone means that family. */
  readonly ip_version?: 4 | 6;
  readonly protocol?: Protocol;
  /** 0 to 254, for a protocol of "icmp" or "icmpv6"; a code needs a type. */
  readonly icmp_type?: number;
  readonly icmp_code?: number;
  readonly "!protocol"?: Protocol;
  readonly "!icmp_type"?: number;
  readonly "!icmp_code"?: number;
  /** Deprecated single-net forms; merged with the lists by the rule scanner. */
  readonly src_net?: string;
  readonly src_nets?: readonly string[];
  /** Canonical text of what selectors, namespace and service account selectors of the rule come to. */
  readonly src_selector?: string;
  readonly src_ports?: readonly Port[];
  /** A Service whose EndpointSlices say the addresses (for `dst_service` the ports too). */
  readonly src_service?: string;
  readonly src_service_ns?: string;
  readonly dst_net?: string;
  readonly dst_nets?: readonly string[];
  readonly dst_selector?: string;
  readonly dst_ports?: readonly Port[];
  readonly dst_service?: string;
  readonly dst_service_ns?: string;
  readonly "!src_net"?: string;
  readonly "!src_nets"?: readonly string[];
  readonly "!src_selector"?: string;
  readonly "!src_ports"?: readonly Port[];
  readonly "!dst_net"?: string;
  readonly "!dst_nets"?: readonly string[];
  readonly "!dst_selector"?: string;
  readonly "!dst_ports"?: readonly Port[];
  /** As written in the resource, here and in the fields that follow: to show the rule, no condition. */
  readonly orig_src_selector?: string;
  readonly orig_src_namespace_selector?: string;
  readonly orig_dst_selector?: string;
  readonly orig_dst_namespace_selector?: string;
  readonly orig_not_src_selector?: string;
  readonly orig_not_dst_selector?: string;
  readonly orig_src_service_acct_names?: readonly string[];
  readonly orig_src_service_acct_selector?: string;
  readonly orig_dst_service_acct_names?: readonly string[];
  readonly orig_dst_service_acct_selector?: string;
  readonly http?: HTTPMatch;
  readonly metadata?: { readonly annotations?: ReadonlyMap<string, string> };
}

/** A method in the list, and a path that is or begins so. Handed on: nf_tables sees no HTTP. */
export interface HTTPMatch {
  readonly methods?: readonly string[];
  readonly paths?: readonly ({ readonly exact: string } | { readonly prefix: string })[];
}
