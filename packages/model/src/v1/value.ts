import type { Key } from "./key.ts";
import type { Protocol, Rule } from "./rule.ts";

/**
 * The v1 values, in the JSON names of the datastore. They are immutable: whoever makes one never changes it again, so
 * that caches, diffs and the graph may share it. Label and annotation maps are Maps here and on the wire; their JSON
 * form is an object (see json.ts).
 */
export type LabelMap = ReadonlyMap<string, string>;

export interface EndpointPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface NatMapping {
  readonly int_ip: string;
  readonly ext_ip: string;
}

export interface QoSControls {
  readonly [field: string]: number | undefined;
}

export interface WorkloadEndpoint {
  /** "active" or "inactive": an inactive one drops all its traffic. */
  readonly state: string;
  /** Host side interface. */
  readonly name: string;
  readonly active_instance_id?: string;
  readonly mac?: string | null;
  readonly profile_ids: readonly string[];
  /** Masked CIDRs; each is one address (/32, /128). */
  readonly ipv4_nets: readonly string[];
  readonly ipv6_nets: readonly string[];
  readonly ipv4_nat?: readonly NatMapping[];
  readonly ipv6_nat?: readonly NatMapping[];
  readonly labels: LabelMap;
  readonly ipv4_gateway?: string;
  readonly ipv6_gateway?: string;
  readonly ports?: readonly EndpointPort[];
  readonly generate_name?: string;
  readonly allow_spoofed_source_ips?: readonly string[];
  readonly annotations?: LabelMap;
  readonly qosControls?: QoSControls;
}

export interface HostEndpoint {
  /** Interface name, "*" for any, "" when matched by address. */
  readonly name: string;
  readonly expected_ipv4_addrs: readonly string[];
  readonly expected_ipv6_addrs: readonly string[];
  readonly labels: LabelMap;
  readonly profile_ids: readonly string[];
  readonly ports?: readonly EndpointPort[];
  readonly qosControls?: QoSControls;
}

export interface Policy {
  readonly namespace?: string;
  readonly tier: string;
  /** Lower first; absent sorts last. */
  readonly order?: number;
  readonly inbound_rules: readonly Rule[];
  readonly outbound_rules: readonly Rule[];
  readonly selector: string;
  readonly untracked?: boolean;
  readonly pre_dnat?: boolean;
  readonly apply_on_forward?: boolean;
  /** "ingress", "egress"; empty or absent means both. */
  readonly types?: readonly string[];
  readonly performance_hints?: readonly string[];
  readonly staged_action?: string;
  readonly annotations?: LabelMap;
}

export interface Tier {
  /** Lower first; absent sorts last. */
  readonly order?: number;
  readonly defaultAction: "Deny" | "Pass";
}

export interface ProfileRules {
  readonly inbound_rules: readonly Rule[];
  readonly outbound_rules: readonly Rule[];
}

export type ProfileLabels = LabelMap;

export interface NetworkSet {
  readonly nets: readonly string[];
  readonly labels: LabelMap;
  readonly profile_ids?: readonly string[];
}

export interface IPPool {
  readonly cidr: string;
  /** "tunl0" where IPIP is on, else "". */
  readonly ipip: string;
  readonly ipip_mode: "always" | "cross-subnet" | "";
  readonly vxlan_mode: "always" | "cross-subnet" | "";
  readonly masquerade: boolean;
  readonly ipam: boolean;
  readonly disabled: boolean;
  readonly disableBGPExport: boolean;
  readonly assignment_mode: "Automatic" | "Manual";
  readonly allowed_uses: readonly string[];
}

export interface BlockAttribute {
  readonly handle_id?: string | null;
  readonly secondary?: Readonly<Record<string, string>>;
  readonly alternateOwnerAttrs?: Readonly<Record<string, string>>;
  readonly releasedAt?: string;
}

export interface Block {
  readonly cidr: string;
  /** "host:<node>", "virtual:<x>" or none. */
  readonly affinity?: string | null;
  /** By ordinal: an index into `attributes`, or null when free. */
  readonly allocations: readonly (number | null)[];
  readonly unallocated: readonly number[];
  readonly attributes: readonly BlockAttribute[];
  readonly sequenceNumber?: number;
  readonly sequenceNumberForAllocation?: Readonly<Record<string, number>>;
  readonly deleted?: boolean;
}

export interface Wireguard {
  readonly interfaceIPv4Addr?: string;
  readonly publicKey?: string;
  readonly interfaceIPv6Addr?: string;
  readonly publicKeyV6?: string;
}

export interface BlockAffinity {
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

export type Value = ValueOf[Key["type"]];
