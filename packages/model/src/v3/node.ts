import type { ResourceOf } from "./object.ts";

/** Addresses as CIDR text, whose length is that of the node's subnet. */
export interface NodeBgpSpec {
  readonly asNumber?: number | string;
  readonly ipv4Address?: string;
  readonly ipv6Address?: string;
  readonly ipv4IPIPTunnelAddr?: string;
  readonly routeReflectorClusterID?: string;
}

/** An address of the node, with or without a length. */
export interface NodeAddressSpec {
  readonly address: string;
  readonly type?: "CalicoNodeIP" | "InternalIP" | "ExternalIP";
}

/** Tunnel addresses are written by whoever allocates them. */
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

/** Keys are base64 of 32 bytes; `podCIDRs` are those of the Kubernetes Node. */
export interface NodeStatus {
  readonly wireguardPublicKey?: string;
  readonly wireguardPublicKeyV6?: string;
  readonly podCIDRs?: readonly string[];
}

/** The v3 Node, also what a Kubernetes Node becomes. */
export type NodeResource = ResourceOf<NodeSpec, NodeStatus>;
