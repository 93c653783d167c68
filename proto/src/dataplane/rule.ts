/** An inclusive range of ports; a single port has first = last. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** A number from 0 to 255, or a name in lower case ("tcp"). */
export type RuleProtocol = { readonly number: number } | { readonly name: string };

/** ICMP type alone or with a code. */
export interface IcmpMatch {
  readonly type: number;
  readonly code?: number;
}

/** "ANY" holds for both families. */
export type IPVersion = "ANY" | 4 | 6;

/**
 * A rule as the dataplane gets it. Absent fields (and empty lists) are no condition; present ones must all hold; a list
 * of nets or ports holds when one entry does; several IP set ids in one field must all hold; for a negative field none
 * of its entries may hold. Numeric ports and named-port sets of one side are alternatives.
 */
export interface DataplaneRule {
  readonly action: "allow" | "deny" | "log" | "pass";
  readonly ip_version: IPVersion;
  readonly protocol?: RuleProtocol;
  /** CIDR text. */
  readonly src_net?: readonly string[];
  readonly src_ports?: readonly PortRange[];
  readonly dst_net?: readonly string[];
  readonly dst_ports?: readonly PortRange[];
  readonly icmp?: IcmpMatch;
  readonly src_ip_set_ids?: readonly string[];
  readonly dst_ip_set_ids?: readonly string[];
  readonly src_named_port_ip_set_ids?: readonly string[];
  readonly dst_named_port_ip_set_ids?: readonly string[];
  /** Sets of (address, protocol, port): services. */
  readonly dst_ip_port_set_ids?: readonly string[];
  readonly not_protocol?: RuleProtocol;
  readonly not_src_net?: readonly string[];
  readonly not_src_ports?: readonly PortRange[];
  readonly not_dst_net?: readonly string[];
  readonly not_dst_ports?: readonly PortRange[];
  readonly not_icmp?: IcmpMatch;
  readonly not_src_ip_set_ids?: readonly string[];
  readonly not_dst_ip_set_ids?: readonly string[];
  readonly not_src_named_port_ip_set_ids?: readonly string[];
  readonly not_dst_named_port_ip_set_ids?: readonly string[];
  /** As written, here and in the fields that follow, to show the rule: no condition. */
  readonly original_src_selector?: string;
  readonly original_dst_selector?: string;
  readonly original_src_namespace_selector?: string;
  readonly original_dst_namespace_selector?: string;
  readonly original_not_src_selector?: string;
  readonly original_not_dst_selector?: string;
  readonly src_service_account_match?: ServiceAccountMatch;
  readonly dst_service_account_match?: ServiceAccountMatch;
  readonly original_src_service?: string;
  readonly original_src_service_namespace?: string;
  readonly original_dst_service?: string;
  readonly original_dst_service_namespace?: string;
  readonly http_match?: {
    readonly methods: readonly string[];
    readonly paths: readonly ({ readonly exact: string } | { readonly prefix: string })[];
  };
  readonly metadata?: { readonly annotations: ReadonlyMap<string, string> };
  /** Content hash over this rule and all before it in its list (spec of the reference system, section 3). */
  readonly rule_id: string;
}

/** Of the rule as written, to show it: what matches stands in the IP sets. */
export interface ServiceAccountMatch {
  readonly selector: string;
  readonly names: readonly string[];
}
