import type { ResourceOf, StringMap } from "./object.ts";

export interface IPPoolSpec {
  /** As it was written; the v1 pool has it masked. */
  readonly cidr: string;
  /** Default "Never"; so of `vxlanMode`. At most one of the two is anything else. */
  readonly ipipMode?: "Always" | "CrossSubnet" | "Never";
  readonly vxlanMode?: "Always" | "CrossSubnet" | "Never";
  readonly natOutgoing?: boolean;
  readonly disabled?: boolean;
  readonly disableBGPExport?: boolean;
  /** Prefix length of its blocks. Default 26, and 122 for IPv6. */
  readonly blockSize?: number;
  readonly nodeSelector?: string;
  readonly namespaceSelector?: string;
  /** Default: Workload and Tunnel. */
  readonly allowedUses?: readonly ("Workload" | "Tunnel" | "LoadBalancer")[];
  readonly assignmentMode?: "Automatic" | "Manual";
}

/** Of the one named `default`. */
export interface ClusterInformationSpec {
  readonly clusterGUID?: string;
  readonly clusterType?: string;
  readonly calicoVersion?: string;
  /** False: clients wait until it is true again. */
  readonly datastoreReady?: boolean;
  readonly variant?: string;
}

/** A port that no policy may cut off; `net` (CIDR text) narrows it to peers. Default: all peers of both families. */
export interface ProtoPort {
  /** "tcp", "udp" or "sctp", in any case of letters; "" means tcp. */
  readonly protocol: string;
  readonly port: number;
  readonly net?: string;
}

/** The fields with a form of their own; all others are plain (see the datastore package's field table). */
export interface FelixConfigurationSpec {
  readonly [field: string]: unknown;
  readonly nodeSelector?: string;
  readonly failsafeInboundHostPorts?: readonly ProtoPort[];
  readonly failsafeOutboundHostPorts?: readonly ProtoPort[];
  readonly routeTableRange?: { readonly min: number; readonly max: number };
  readonly routeTableRanges?: readonly { readonly min: number; readonly max: number }[];
  readonly healthTimeoutOverrides?: readonly { readonly name: string; readonly timeout: string }[];
  readonly bpfConntrackTimeouts?: StringMap;
}

/** As far as it is read: the one named `default` counts. */
export interface BGPConfigurationSpec {
  readonly asNumber?: number | string;
  readonly nodeToNodeMeshEnabled?: boolean;
  readonly serviceClusterIPs?: readonly { readonly cidr: string }[];
  readonly serviceExternalIPs?: readonly { readonly cidr: string }[];
  readonly serviceLoadBalancerIPs?: readonly { readonly cidr: string }[];
}

/** As far as it is read. `node` and `nodeSelector` exclude each other; neither means every node. */
export interface BGPPeerSpec {
  readonly node?: string;
  readonly nodeSelector?: string;
  readonly peerIP?: string;
  readonly peerSelector?: string;
  readonly asNumber?: number | string;
}

export type IPPoolResource = ResourceOf<IPPoolSpec>;
export type ClusterInformationResource = ResourceOf<ClusterInformationSpec>;
export type FelixConfigurationResource = ResourceOf<FelixConfigurationSpec>;
export type BGPConfigurationResource = ResourceOf<BGPConfigurationSpec>;
export type BGPPeerResource = ResourceOf<BGPPeerSpec>;
