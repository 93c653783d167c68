import type { ResourceOf, StringMap } from "./object.ts";

export interface IPPoolSpec {
  readonly cidr: string;
  readonly ipipMode?: "Always" | "CrossSubnet" | "Never";
  readonly vxlanMode?: "Always" | "CrossSubnet" | "Never";
  readonly natOutgoing?: boolean;
  readonly disabled?: boolean;
  readonly disableBGPExport?: boolean;
  readonly blockSize?: number;
  readonly nodeSelector?: string;
  readonly namespaceSelector?: string;
  readonly allowedUses?: readonly ("Workload" | "Tunnel" | "LoadBalancer")[];
  readonly assignmentMode?: "Automatic" | "Manual";
}

export interface ClusterInformationSpec {
  readonly clusterGUID?: string;
  readonly clusterType?: string;
  readonly calicoVersion?: string;
  readonly datastoreReady?: boolean;
  readonly variant?: string;
}

export interface ProtoPort {
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

export interface BGPConfigurationSpec {
  readonly asNumber?: number | string;
  readonly nodeToNodeMeshEnabled?: boolean;
  readonly serviceClusterIPs?: readonly { readonly cidr: string }[];
  readonly serviceExternalIPs?: readonly { readonly cidr: string }[];
  readonly serviceLoadBalancerIPs?: readonly { readonly cidr: string }[];
}

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
