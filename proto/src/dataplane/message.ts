import type { PolicyKind } from "@bulrush/model";
import type { DataplaneRule } from "./rule.ts";

/**
 * Messages from the calculation graph to the dataplane, in the field names of the reference system's felixbackend
 * protocol. They are plain, immutable data that survive structured cloning (worker threads).
 *
 * Guarantees of the sender: nothing refers to an object that was not sent; nothing is removed while it is referred to;
 * no endpoint before the datastore is in sync. The receiver ignores removes of what it does not know.
 */
export type ToDataplane =
  | InSync
  | ConfigUpdate
  | IPSetUpdate
  | IPSetDeltaUpdate
  | IPSetRemove
  | ActivePolicyUpdate
  | ActivePolicyRemove
  | ActiveProfileUpdate
  | ActiveProfileRemove
  | WorkloadEndpointUpdate
  | WorkloadEndpointRemove
  | HostEndpointUpdate
  | HostEndpointRemove
  | HostMetadataUpdate
  | HostMetadataRemove
  | IPAMPoolUpdate
  | IPAMPoolRemove
  | ServiceAccountUpdate
  | ServiceAccountRemove
  | NamespaceUpdate
  | NamespaceRemove
  | RouteUpdate
  | RouteRemove
  | VXLANTunnelEndpointUpdate
  | VXLANTunnelEndpointRemove
  | WireguardEndpointUpdate
  | WireguardEndpointRemove
  | WireguardEndpointV6Update
  | WireguardEndpointV6Remove
  | GlobalBGPConfigUpdate
  | Encapsulation
  | ServiceUpdate
  | ServiceRemove;

/** Sent once, after the first flush that followed the datastore's first in-sync. */
export interface InSync {
  readonly msg: "InSync";
}

export interface ConfigUpdate {
  readonly msg: "ConfigUpdate";
  readonly config: ReadonlyMap<string, string>;
  /** Raw settings by source: "global", "selector", "host". */
  readonly source_to_raw_config: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Where the graph itself finds the datastore not ready: internal, the process acts on it; never on a wire. */
export interface DatastoreNotReady {
  readonly msg: "DatastoreNotReady";
}

/** IP: bare addresses. NET: CIDRs. IP_AND_PORT: "10.0.0.1,tcp:8080". */
export type IPSetType = "IP" | "IP_AND_PORT" | "NET";

/** Replaces the set with these members, whatever was there. */
export interface IPSetUpdate {
  readonly msg: "IPSetUpdate";
  readonly id: string;
  readonly members: readonly string[];
  readonly type: IPSetType;
}

export interface IPSetDeltaUpdate {
  readonly msg: "IPSetDeltaUpdate";
  readonly id: string;
  readonly added_members: readonly string[];
  readonly removed_members: readonly string[];
}

export interface IPSetRemove {
  readonly msg: "IPSetRemove";
  readonly id: string;
}

export interface PolicyID {
  readonly name: string;
  readonly namespace: string;
  readonly kind: PolicyKind;
}

export interface DataplanePolicy {
  readonly inbound_rules: readonly DataplaneRule[];
  readonly outbound_rules: readonly DataplaneRule[];
  readonly untracked: boolean;
  readonly pre_dnat: boolean;
  readonly namespace: string;
  readonly tier: string;
  /** Canonical text. */
  readonly original_selector: string;
  readonly perf_hints: readonly string[];
}

export interface ActivePolicyUpdate {
  readonly msg: "ActivePolicyUpdate";
  readonly id: PolicyID;
  readonly policy: DataplanePolicy;
}

export interface ActivePolicyRemove {
  readonly msg: "ActivePolicyRemove";
  readonly id: PolicyID;
}

export interface DataplaneProfile {
  readonly inbound_rules: readonly DataplaneRule[];
  readonly outbound_rules: readonly DataplaneRule[];
}

export interface ActiveProfileUpdate {
  readonly msg: "ActiveProfileUpdate";
  readonly id: string;
  readonly profile: DataplaneProfile;
}

export interface ActiveProfileRemove {
  readonly msg: "ActiveProfileRemove";
  readonly id: string;
}

/** One tier of one endpoint: only tiers with at least one policy for it. Policies in order of evaluation. */
export interface TierInfo {
  readonly name: string;
  readonly ingress_policies: readonly PolicyID[];
  readonly egress_policies: readonly PolicyID[];
  /** What ends the tier where no policy decided; "" when the tier has no resource (then Deny). */
  readonly default_action: "Deny" | "Pass" | "";
}

export interface WorkloadEndpointID {
  /** Only from a graph of all hosts (explain): tells endpoints of one name on two hosts apart. */
  readonly hostname?: string;
  readonly orchestrator: string;
  readonly workload: string;
  readonly endpoint: string;
}

export interface NatInfo {
  readonly ext_ip: string;
  readonly int_ip: string;
}

export interface DataplaneWorkloadEndpoint {
  readonly state: string;
  readonly name: string;
  /** "" when unknown. */
  readonly mac: string;
  readonly profile_ids: readonly string[];
  readonly ipv4_nets: readonly string[];
  readonly ipv6_nets: readonly string[];
  readonly tiers: readonly TierInfo[];
  readonly ipv4_nat: readonly NatInfo[];
  readonly ipv6_nat: readonly NatInfo[];
  readonly allow_spoofed_source_prefixes: readonly string[];
  readonly annotations: ReadonlyMap<string, string>;
  readonly qos_controls?: Readonly<Record<string, number | undefined>>;
  readonly local_bgp_peer?: { readonly bgp_peer_name: string };
  readonly skip_redir?: { readonly egress: boolean; readonly ingress: boolean };
  readonly qos_policies: readonly { readonly destination: string; readonly dscp: number }[];
  readonly is_istio_ambient?: boolean;
  readonly live_migration_role?: "none" | "source" | "target";
  readonly live_migration_uid?: string;
  readonly live_migration_vmi_name?: string;
}

export interface WorkloadEndpointUpdate {
  readonly msg: "WorkloadEndpointUpdate";
  readonly id: WorkloadEndpointID;
  readonly endpoint: DataplaneWorkloadEndpoint;
}

export interface WorkloadEndpointRemove {
  readonly msg: "WorkloadEndpointRemove";
  readonly id: WorkloadEndpointID;
}

export interface DataplaneHostEndpoint {
  /** Interface name, "*" or "". */
  readonly name: string;
  readonly profile_ids: readonly string[];
  readonly tiers: readonly TierInfo[];
  readonly untracked_tiers: readonly TierInfo[];
  readonly pre_dnat_tiers: readonly TierInfo[];
  readonly forward_tiers: readonly TierInfo[];
  readonly expected_ipv4_addrs: readonly string[];
  readonly expected_ipv6_addrs: readonly string[];
  readonly qos_policies: readonly { readonly destination: string; readonly dscp: number }[];
}

export interface HostEndpointUpdate {
  readonly msg: "HostEndpointUpdate";
  readonly id: string;
  readonly endpoint: DataplaneHostEndpoint;
}

export interface HostEndpointRemove {
  readonly msg: "HostEndpointRemove";
  readonly id: string;
}

export interface HostMetadataUpdate {
  readonly msg: "HostMetadataUpdate";
  readonly hostname: string;
  /** CIDR text or "". */
  readonly ipv4_addr: string;
  readonly ipv6_addr: string;
  readonly asnumber: string;
  readonly labels: ReadonlyMap<string, string>;
}

export interface HostMetadataRemove {
  readonly msg: "HostMetadataRemove";
  readonly hostname: string;
}

export interface IPAMPoolUpdate {
  readonly msg: "IPAMPoolUpdate";
  /** "10.0.0.0-16". */
  readonly id: string;
  readonly pool: {
    readonly cidr: string;
    readonly masquerade: boolean;
    readonly ipip_mode: string;
    readonly vxlan_mode: string;
    readonly allowed_uses: readonly string[];
  };
}

export interface IPAMPoolRemove {
  readonly msg: "IPAMPoolRemove";
  readonly id: string;
}

export interface ServiceAccountUpdate {
  readonly msg: "ServiceAccountUpdate";
  readonly id: { readonly namespace: string; readonly name: string };
  readonly labels: ReadonlyMap<string, string>;
}

export interface ServiceAccountRemove {
  readonly msg: "ServiceAccountRemove";
  readonly id: { readonly namespace: string; readonly name: string };
}

export interface NamespaceUpdate {
  readonly msg: "NamespaceUpdate";
  readonly id: string;
  readonly labels: ReadonlyMap<string, string>;
}

export interface NamespaceRemove {
  readonly msg: "NamespaceRemove";
  readonly id: string;
}

export type RouteType =
  | "REMOTE_WORKLOAD"
  | "REMOTE_HOST"
  | "LOCAL_WORKLOAD"
  | "LOCAL_HOST"
  | "REMOTE_TUNNEL"
  | "LOCAL_TUNNEL";

export interface RouteUpdate {
  readonly msg: "RouteUpdate";
  readonly dst: string;
  /** Empty: CIDR info only. */
  readonly types: readonly RouteType[];
  readonly ip_pool_type: "NONE" | "NO_ENCAP" | "VXLAN" | "IPIP";
  readonly dst_node_name: string;
  readonly dst_node_ip: string;
  readonly same_subnet: boolean;
  readonly nat_outgoing: boolean;
  readonly local_workload: boolean;
  readonly tunnel_type: { readonly ipip: boolean; readonly vxlan: boolean; readonly wireguard: boolean };
  readonly borrowed: boolean;
}

export interface RouteRemove {
  readonly msg: "RouteRemove";
  readonly dst: string;
}

export interface VXLANTunnelEndpointUpdate {
  readonly msg: "VXLANTunnelEndpointUpdate";
  readonly node: string;
  readonly mac: string;
  readonly ipv4_addr: string;
  readonly parent_device_ip: string;
  readonly mac_v6: string;
  readonly ipv6_addr: string;
  readonly parent_device_ipv6: string;
}

export interface VXLANTunnelEndpointRemove {
  readonly msg: "VXLANTunnelEndpointRemove";
  readonly node: string;
}

export interface WireguardEndpointUpdate {
  readonly msg: "WireguardEndpointUpdate";
  readonly hostname: string;
  readonly public_key: string;
  readonly interface_ipv4_addr: string;
}

export interface WireguardEndpointRemove {
  readonly msg: "WireguardEndpointRemove";
  readonly hostname: string;
}

export interface WireguardEndpointV6Update {
  readonly msg: "WireguardEndpointV6Update";
  readonly hostname: string;
  readonly public_key_v6: string;
  readonly interface_ipv6_addr: string;
}

export interface WireguardEndpointV6Remove {
  readonly msg: "WireguardEndpointV6Remove";
  readonly hostname: string;
}

export interface GlobalBGPConfigUpdate {
  readonly msg: "GlobalBGPConfigUpdate";
  readonly service_cluster_cidrs: readonly string[];
  readonly service_external_cidrs: readonly string[];
  readonly service_loadbalancer_cidrs: readonly string[];
  readonly local_workload_peering_ip_v4: string;
  readonly local_workload_peering_ip_v6: string;
}

export interface Encapsulation {
  readonly msg: "Encapsulation";
  readonly ipip_enabled: boolean;
  readonly vxlan_enabled: boolean;
  readonly vxlan_enabled_v6: boolean;
  readonly no_encap_needed: boolean;
}

export interface ServicePort {
  readonly protocol: string;
  readonly port: number;
  readonly node_port: number;
}

export interface ServiceUpdate {
  readonly msg: "ServiceUpdate";
  readonly name: string;
  readonly namespace: string;
  readonly type: string;
  readonly cluster_ips: readonly string[];
  readonly loadbalancer_ip: string;
  readonly external_ips: readonly string[];
  readonly ports: readonly ServicePort[];
  readonly loadbalancer_ingress_ips: readonly string[];
}

export interface ServiceRemove {
  readonly msg: "ServiceRemove";
  readonly name: string;
  readonly namespace: string;
}
