import type { Key } from "./key.ts";
import type { Protocol, Rule } from "./rule.ts";

/**
 * The v1 values, in the JSON names of the datastore. They are immutable: whoever makes one never changes it again, so
 * that caches, diffs and the graph may share it. Label and annotation maps are Maps here and on the wire; their JSON
 * form is an object (see json.ts).
 */
export type LabelMap = ReadonlyMap<string, string>;

/** A port that rules may name. */
export interface EndpointPort {
  readonly name: string;
  readonly protocol: Protocol;
  /** 1 to 65535. */
  readonly port: number;
}

/** One-to-one, both ways. Addresses without a length. */
export interface NatMapping {
  readonly int_ip: string;
  readonly ext_ip: string;
}

/**
 * Limits by name (`ingressBandwidth`): rates in bits or packets a second, bursts in bits or packets, connections;
 * `dscp` is 0 to 63.
 */
export interface QoSControls {
  readonly [field: string]: number | undefined;
}

/** An interface of a workload, and what applies to its traffic. */
export interface WorkloadEndpoint {
  /** "active" or "inactive": an inactive one drops all its traffic. */
  readonly state: string;
  /** Host side interface. */
  readonly name: string;
  readonly active_instance_id?: string;
  /** "aa:bb:cc:dd:ee:ff"; absent where it is not known. */
  readonly mac?: string | null;
  /** In order of evaluation, behind the policies. */
  readonly profile_ids: readonly string[];
  /** Masked CIDRs; each is one address (/32, /128). */
  readonly ipv4_nets: readonly string[];
  readonly ipv6_nets: readonly string[];
  readonly ipv4_nat?: readonly NatMapping[];
  readonly ipv6_nat?: readonly NatMapping[];
  readonly labels: LabelMap;
  readonly ipv4_gateway?: string;
  readonly ipv6_gateway?: string;
  /** Ports that rules may name. */
  readonly ports?: readonly EndpointPort[];
  /** The prefix that the pod's name was made of. */
  readonly generate_name?: string;
  /** CIDR text: source addresses that it may use beside its own. */
  readonly allow_spoofed_source_ips?: readonly string[];
  readonly annotations?: LabelMap;
  readonly qosControls?: QoSControls;
}

/** An interface of a host, or all of them, that policies apply to. */
export interface HostEndpoint {
  /** Interface name, "*" for any, "" when matched by address. */
  readonly name: string;
  /** Without lengths. They find the interface where `name` is "", and stand for it in IP sets. */
  readonly expected_ipv4_addrs: readonly string[];
  readonly expected_ipv6_addrs: readonly string[];
  readonly labels: LabelMap;
  /** In order of evaluation. */
  readonly profile_ids: readonly string[];
  readonly ports?: readonly EndpointPort[];
  readonly qosControls?: QoSControls;
}

/** A policy in v1 form; rules in order of evaluation. */
export interface Policy {
  /** Absent for the global kinds. */
  readonly namespace?: string;
  /** Never "". */
  readonly tier: string;
  /** Lower first; absent sorts last. */
  readonly order?: number;
  readonly inbound_rules: readonly Rule[];
  readonly outbound_rules: readonly Rule[];
  /** Canonical text; of a namespaced policy it holds the namespace too. */
  readonly selector: string;
  /** Before conntrack, and only for host endpoints, as `pre_dnat` and `apply_on_forward` are. */
  readonly untracked?: boolean;
  readonly pre_dnat?: boolean;
  readonly apply_on_forward?: boolean;
  /** "ingress", "egress"; empty or absent means both. */
  readonly types?: readonly string[];
  readonly performance_hints?: readonly string[];
  /** Of the staged kinds: "Set", "Delete"; see the v3 resource. */
  readonly staged_action?: string;
  readonly annotations?: LabelMap;
}

/** Orders policies: all of a lower tier come before those of a higher one. */
export interface Tier {
  /** Lower first; absent sorts last. */
  readonly order?: number;
  /** What ends the tier for an endpoint that some policy of it selects where none decided. */
  readonly defaultAction: "Deny" | "Pass";
}

/** Rules in order of evaluation. */
export interface ProfileRules {
  readonly inbound_rules: readonly Rule[];
  readonly outbound_rules: readonly Rule[];
}

/** Endpoints of the profile inherit these; their own labels win. */
export type ProfileLabels = LabelMap;

/** Networks that selectors match by the set's labels. */
export interface NetworkSet {
  /** CIDR text or bare addresses; of both families. */
  readonly nets: readonly string[];
  readonly labels: LabelMap;
  /** Of a namespaced set: its namespace's, whose labels it inherits. */
  readonly profile_ids?: readonly string[];
}

/** A pool of workload addresses. */
export interface IPPool {
  /** As in its key. */
  readonly cidr: string;
  /** "tunl0" where IPIP is on, else "". */
  readonly ipip: string;
  /** "" is off. At most one of it and `vxlan_mode` is on. */
  readonly ipip_mode: "always" | "cross-subnet" | "";
  readonly vxlan_mode: "always" | "cross-subnet" | "";
  /** What leaves all pools gets the host's address. */
  readonly masquerade: boolean;
  /** False: addresses are no longer given out of it. */
  readonly ipam: boolean;
  /** No new addresses are given out of it. Routes and NAT of it stay. */
  readonly disabled: boolean;
  readonly disableBGPExport: boolean;
  /** "Manual": only who asks for it by name gets an address. */
  readonly assignment_mode: "Automatic" | "Manual";
  /** "Workload", "Tunnel", "LoadBalancer"; empty means every use. */
  readonly allowed_uses: readonly string[];
}

/** Who has an address. Several addresses may share one. */
export interface BlockAttribute {
  readonly handle_id?: string | null;
  /** Free text by name: "node", "pod", "namespace", "type" ("ipipTunnelAddress" ...). */
  readonly secondary?: Readonly<Record<string, string>>;
  readonly alternateOwnerAttrs?: Readonly<Record<string, string>>;
  readonly releasedAt?: string;
}

/** A block of IPAM as it is stored. `allocations` has one entry for each address, in order. */
export interface Block {
  readonly cidr: string;
  /** "host:<node>", "virtual:<x>" or none. */
  readonly affinity?: string | null;
  /** By ordinal: an index into `attributes`, or null when free. */
  readonly allocations: readonly (number | null)[];
  /** Ordinals of the free addresses. */
  readonly unallocated: readonly number[];
  /** Who has the addresses; `allocations` point here. */
  readonly attributes: readonly BlockAttribute[];
  readonly sequenceNumber?: number;
  readonly sequenceNumberForAllocation?: Readonly<Record<string, number>>;
  /** True while it is being taken away. */
  readonly deleted?: boolean;
}

/** What a host has told of its WireGuard devices. */
export interface Wireguard {
  readonly interfaceIPv4Addr?: string;
  /** Base64 of 32 bytes. */
  readonly publicKey?: string;
  readonly interfaceIPv6Addr?: string;
  readonly publicKeyV6?: string;
}

/** The value beside its key. */
export interface BlockAffinity {
  /** "pending", "confirmed" or "pendingDeletion". */
  readonly state?: string;
  readonly deleted?: boolean;
}

/** The shape shared by everything that has Kubernetes metadata. Spec and status stay as they were written. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ResourceMetadata;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** Kubernetes' ObjectMeta, as far as it is read. Times are RFC 3339 text. */
export interface ResourceMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly generateName?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly unknown[];
}

/** The type of the value under each type of key. */
export interface ValueOf {
  WorkloadEndpoint: WorkloadEndpoint;
  HostEndpoint: HostEndpoint;
  Policy: Policy;
  Tier: Tier;
  ProfileRules: ProfileRules;
  ProfileLabels: ProfileLabels;
  NetworkSet: NetworkSet;
  IPPool: IPPool;
  Block: Block;
  BlockAffinity: BlockAffinity;
  HostConfig: string;
  GlobalConfig: string;
  ReadyFlag: boolean;
  Wireguard: Wireguard;
  Resource: Resource;
}

/** Of any key. */
export type Value = ValueOf[Key["type"]];
