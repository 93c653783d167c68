import type { ResourceOf } from "./object.ts";

export interface NodeBgpSpec {
  readonly asNumber?: number | string;
  readonly ipv4Address?: string;
  readonly ipv6Address?: string;
  readonly ipv4IPIPTunnelAddr?: string;
  readonly routeReflectorClusterID?: string;
}

export interface NodeAddressSpec {
  readonly address: string;
  readonly type?: "CalicoNodeIP" | "InternalIP" | "ExternalIP";
}

export interface NodeSpec {
  readonly bgp?: NodeBgpSpec;
  /** The host's own interfaces, as its agent has found them. */
  readonly interfaces?: readonly { readonly name: string; readonly addresses?: readonly string[] }[];
  readonly orchRefs?: readonly { readonly nodeName?: string; readonly orchestrator: string }[];
  readonly ipv4VXLANTunnelAddr?: string;
  readonly vxlanTunnelMACAddr?: string;
  readonly ipv6VXLANTunnelAddr?: string;
  readonly vxlanTunnelMACAddrV6?: string;
  readonly wireguard?: { readonly interfaceIPv4Address?: string; readonly interfaceIPv6Address?: string };
  readonly addresses?: readonly NodeAddressSpec[];
}

export interface NodeStatus {
  readonly wireguardPublicKey?: string;
  readonly wireguardPublicKeyV6?: string;
  readonly podCIDRs?: readonly string[];
}

/** The v3 Node, also what a Kubernetes Node becomes. */
export type NodeResource = ResourceOf<NodeSpec, NodeStatus>;
