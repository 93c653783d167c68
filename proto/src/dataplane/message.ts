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

/** The settings of this host, whole, when they are first known and when they change; ahead of all else of a flush. */
export interface ConfigUpdate {
  readonly msg: "ConfigUpdate";
  /** By setting name ("LogSeverityScreen"), as text, merged from all sources. */
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

/** Only for a set that was sent whole before. */
export interface IPSetDeltaUpdate {
  readonly msg: "IPSetDeltaUpdate";
  readonly id: string;
  readonly added_members: readonly string[];
  readonly removed_members: readonly string[];
}

/** Comes after the last rule that refers to it has gone. */
export interface IPSetRemove {
  readonly msg: "IPSetRemove";
  readonly id: string;
}

/** Names one policy: names are unique within kind and namespace alone. */
export interface PolicyID {
  readonly name: string;
  /** "" for the global kinds. */
  readonly namespace: string;
  readonly kind: PolicyKind;
}

/** What one policy says, selectors resolved to IP sets; rules in order of evaluation. */
export interface DataplanePolicy {
  readonly inbound_rules: readonly DataplaneRule[];
  readonly outbound_rules: readonly DataplaneRule[];
  readonly untracked: boolean;
  readonly pre_dnat: boolean;
  /** "" for the global kinds. */
  readonly namespace: string;
  readonly tier: string;
  /** Canonical text. */
  readonly original_selector: string;
  /** As written in the policy: "AssumeNeededOnEveryNode". */
  readonly perf_hints: readonly string[];
}

/**
 * A policy that some local endpoint uses, or that asks to be on every host. Replaces the one before; sent ahead of
 * endpoints that name it.
 */
export interface ActivePolicyUpdate {
  readonly msg: "ActivePolicyUpdate";
  readonly id: PolicyID;
  readonly policy: DataplanePolicy;
}

/** Comes after the last endpoint that named it has gone or changed. */
export interface ActivePolicyRemove {
  readonly msg: "ActivePolicyRemove";
  readonly id: PolicyID;
}

/** What one profile says; rules in order of evaluation. */
export interface DataplaneProfile {
  readonly inbound_rules: readonly DataplaneRule[];
  readonly outbound_rules: readonly DataplaneRule[];
}

/** A profile that some local endpoint uses; sent before it, as a policy. `id` is its name. */
export interface ActiveProfileUpdate {
  readonly msg: "ActiveProfileUpdate";
  readonly id: string;
  readonly profile: DataplaneProfile;
}

/** Comes after the last endpoint that named it has gone or changed. */
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

/** Names one endpoint of this host. */
export interface WorkloadEndpointID {
  /** Only from a graph of all hosts (explain): tells endpoints of one name on two hosts apart. */
  readonly hostname?: string;
  readonly orchestrator: string;
  /** For Kubernetes: `namespace/pod`. */
  readonly workload: string;
  readonly endpoint: string;
}

/** A one-to-one mapping of addresses, both ways. */
export interface NatInfo {
  readonly ext_ip: string;
  readonly int_ip: string;
}

/** A workload endpoint of this host. Its tiers and then its profiles are in order of evaluation. */
export interface DataplaneWorkloadEndpoint {
  /** "active"; anything else drops all its traffic. */
  readonly state: string;
  /** Interface on the host's side. */
  readonly name: string;
  /** "" when unknown. */
  readonly mac: string;
  readonly profile_ids: readonly string[];
  /** CIDR text, one address each. */
  readonly ipv4_nets: readonly string[];
  readonly ipv6_nets: readonly string[];
  readonly tiers: readonly TierInfo[];
  readonly ipv4_nat: readonly NatInfo[];
  readonly ipv6_nat: readonly NatInfo[];
  /** CIDR text: source addresses that it may use beside its own. */
  readonly allow_spoofed_source_prefixes: readonly string[];
  readonly annotations: ReadonlyMap<string, string>;
  /** Limits by name (`ingressBandwidth` ...), without the DSCP; absent where there are none. */
  readonly qos_controls?: Readonly<Record<string, number | undefined>>;
  /** Present where a BGPPeer's selector picks it. */
  readonly local_bgp_peer?: { readonly bgp_peer_name: string };
  /** Directions in which packets may not be redirected past the interface; absent: in none. */
  readonly skip_redir?: { readonly egress: boolean; readonly ingress: boolean };
  /** The DSCP (0 to 63) of packets that leave it; `destination` "" is all of them. */
  readonly qos_policies: readonly { readonly destination: string; readonly dscp: number }[];
  readonly is_istio_ambient?: boolean;
  readonly live_migration_role?: "none" | "source" | "target";
  readonly live_migration_uid?: string;
  readonly live_migration_vmi_name?: string;
}

/** Replaces what was sent under its id. All policies, profiles and IP sets that it needs were sent before. */
export interface WorkloadEndpointUpdate {
  readonly msg: "WorkloadEndpointUpdate";
  readonly id: WorkloadEndpointID;
  readonly endpoint: DataplaneWorkloadEndpoint;
}

export interface WorkloadEndpointRemove {
  readonly msg: "WorkloadEndpointRemove";
  readonly id: WorkloadEndpointID;
}

/** A host endpoint of this host. A list of tiers is in order of evaluation, for one kind of policy each. */
export interface DataplaneHostEndpoint {
  /** Interface name, "*" or "". */
  readonly name: string;
  /** In order of evaluation, behind `tiers`. */
  readonly profile_ids: readonly string[];
  readonly tiers: readonly TierInfo[];
  /** Policies with `doNotTrack`, before conntrack. */
  readonly untracked_tiers: readonly TierInfo[];
  /** Policies with `preDNAT`, ingress only. */
  readonly pre_dnat_tiers: readonly TierInfo[];
  /** Policies with `applyOnForward`, for traffic that the host forwards. */
  readonly forward_tiers: readonly TierInfo[];
  readonly expected_ipv4_addrs: readonly string[];
  readonly expected_ipv6_addrs: readonly string[];
  /** The DSCP (0 to 63) of packets that leave; `destination` "" is all of them. */
  readonly qos_policies: readonly { readonly destination: string; readonly dscp: number }[];
}

/** Replaces what was sent under its id, the name in its key. */
export interface HostEndpointUpdate {
  readonly msg: "HostEndpointUpdate";
  readonly id: string;
  readonly endpoint: DataplaneHostEndpoint;
}

export interface HostEndpointRemove {
  readonly msg: "HostEndpointRemove";
  readonly id: string;
}

/** A node and its addresses, this host's among them. */
export interface HostMetadataUpdate {
  readonly msg: "HostMetadataUpdate";
  readonly hostname: string;
  /** CIDR text or "". */
  readonly ipv4_addr: string;
  readonly ipv6_addr: string;
  /** As text; "" for the cluster's default. */
  readonly asnumber: string;
  readonly labels: ReadonlyMap<string, string>;
}

/** The node is gone, or nothing is to be told of it any more. */
export interface HostMetadataRemove {
  readonly msg: "HostMetadataRemove";
  readonly hostname: string;
}

/** A pool, as far as NAT and tunnels go by it. `ipip_mode` and `vxlan_mode` are "" where they are off. */
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

/** A service account and its labels, out of its profile. */
export interface ServiceAccountUpdate {
  readonly msg: "ServiceAccountUpdate";
  readonly id: { readonly namespace: string; readonly name: string };
  readonly labels: ReadonlyMap<string, string>;
}

export interface ServiceAccountRemove {
  readonly msg: "ServiceAccountRemove";
  readonly id: { readonly namespace: string; readonly name: string };
}

/** A namespace and its labels; `id` is its name. */
export interface NamespaceUpdate {
  readonly msg: "NamespaceUpdate";
  readonly id: string;
  readonly labels: ReadonlyMap<string, string>;
}

export interface NamespaceRemove {
  readonly msg: "NamespaceRemove";
  readonly id: string;
}

/**
 * What is at the network: a workload, a host's own address or an end of a tunnel, here (LOCAL) or elsewhere (REMOTE).
 */
export type RouteType =
  | "REMOTE_WORKLOAD"
  | "REMOTE_HOST"
  | "LOCAL_WORKLOAD"
  | "LOCAL_HOST"
  | "REMOTE_TUNNEL"
  | "LOCAL_TUNNEL";

/** All that is known of one network, for whoever writes routes or decides on NAT. Replaces what was said of `dst`. */
export interface RouteUpdate {
  readonly msg: "RouteUpdate";
  /** Masked CIDR text. */
  readonly dst: string;
  /** Empty: CIDR info only. */
  readonly types: readonly RouteType[];
  /** Of the pool around it; "NONE": in no pool for workloads. */
  readonly ip_pool_type: "NONE" | "NO_ENCAP" | "VXLAN" | "IPIP";
  /** Where it leads; "" where it leads nowhere, as a pool by itself. */
  readonly dst_node_name: string;
  /** That node's own address in the family of `dst`; "" when unknown. */
  readonly dst_node_ip: string;
  /** Its pool is "cross-subnet", and that node is in this host's subnet: no tunnel is needed. */
  readonly same_subnet: boolean;
  /** Its pool masquerades what leaves all pools. */
  readonly nat_outgoing: boolean;
  /** A workload of this host has the address. */
  readonly local_workload: boolean;
  /** Which tunnels of that node end at the address. */
  readonly tunnel_type: { readonly ipip: boolean; readonly vxlan: boolean; readonly wireguard: boolean };
  /** It lies in the block of another node than the one that uses it. */
  readonly borrowed: boolean;
}

/** `dst` as in the update. */
export interface RouteRemove {
  readonly msg: "RouteRemove";
  readonly dst: string;
}

/**
 * A node's end of the VXLAN tunnels, this host's own among them. A family that is not complete has "" in all three
 * fields.
 */
export interface VXLANTunnelEndpointUpdate {
  readonly msg: "VXLANTunnelEndpointUpdate";
  readonly node: string;
  /** As stored, else derived from the node's name, alike on every host. */
  readonly mac: string;
  /** Of the tunnel's device. */
  readonly ipv4_addr: string;
  /** The node's own, to which the outer packets go. */
  readonly parent_device_ip: string;
  readonly mac_v6: string;
  readonly ipv6_addr: string;
  readonly parent_device_ipv6: string;
}

export interface VXLANTunnelEndpointRemove {
  readonly msg: "VXLANTunnelEndpointRemove";
  readonly node: string;
}

/** A node that has a WireGuard key for IPv4, this host among them. */
export interface WireguardEndpointUpdate {
  readonly msg: "WireguardEndpointUpdate";
  readonly hostname: string;
  /** Base64 of 32 bytes. */
  readonly public_key: string;
  readonly interface_ipv4_addr: string;
}

export interface WireguardEndpointRemove {
  readonly msg: "WireguardEndpointRemove";
  readonly hostname: string;
}

/** As {@link WireguardEndpointUpdate}, of the key for IPv6. */
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

/** The BGPConfiguration `default`, when it is there; all lists empty and all texts "" once it is gone. */
export interface GlobalBGPConfigUpdate {
  readonly msg: "GlobalBGPConfigUpdate";
  readonly service_cluster_cidrs: readonly string[];
  readonly service_external_cidrs: readonly string[];
  readonly service_loadbalancer_cidrs: readonly string[];
  readonly local_workload_peering_ip_v4: string;
  readonly local_workload_peering_ip_v6: string;
}

/** What the pools ask for; first sent when the datastore is in sync, then on a change. */
export interface Encapsulation {
  readonly msg: "Encapsulation";
  /** A setting of the host has the last word, here and in `vxlan_enabled`. */
  readonly ipip_enabled: boolean;
  readonly vxlan_enabled: boolean;
  readonly vxlan_enabled_v6: boolean;
  /** Some pool has no encapsulation, and its routes are the dataplane's to write. */
  readonly no_encap_needed: boolean;
}

/** One port of a Service. */
export interface ServicePort {
  /** "TCP" where the Service says none. */
  readonly protocol: string;
  readonly port: number;
  /** 0: none. */
  readonly node_port: number;
}

/** A Service of Kubernetes. Replaces what was sent of its name. */
export interface ServiceUpdate {
  readonly msg: "ServiceUpdate";
  readonly name: string;
  readonly namespace: string;
  /** "ClusterIP" where the Service says none. */
  readonly type: string;
  readonly cluster_ips: readonly string[];
  /** "" for none: what was asked for. What was given stands in `loadbalancer_ingress_ips`. */
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
