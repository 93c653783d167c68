import type { Resource } from "../v1/value.ts";
import type { ResourceOf } from "./object.ts";

/** core/v1, as the shapes below, as far as they are read. */
export interface ContainerPort {
  readonly name?: string;
  readonly containerPort?: number;
  readonly hostPort?: number;
  /** Default "TCP". */
  readonly protocol?: string;
}

/** What matters of it: ports that rules may name. */
export interface Container {
  readonly name?: string;
  readonly ports?: readonly ContainerPort[];
}

/** core/v1, as are the kinds below, as far as they are read. What is absent has the API's default. */
export interface PodSpec {
  readonly nodeName?: string;
  /** True: the pod has the host's addresses, and becomes no endpoint. */
  readonly hostNetwork?: boolean;
  readonly serviceAccountName?: string;
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
}

export interface PodStatus {
  /** "Succeeded" and "Failed" mean that its addresses are free again. */
  readonly phase?: string;
  readonly podIP?: string;
  /** At most one of each family; `podIP` is the first. Empty until the pod has its network. */
  readonly podIPs?: readonly { readonly ip?: string }[];
}

export interface KubernetesNodeSpec {
  readonly podCIDR?: string;
  readonly podCIDRs?: readonly string[];
}

/** Addresses by type: "InternalIP", "ExternalIP", "Hostname". */
export interface KubernetesNodeStatus {
  readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
}

/** One port of a Service; the slices say where it leads. */
export interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port?: number;
  /** A number or the name of a container's port. Default: `port`. */
  readonly targetPort?: number | string;
  readonly nodePort?: number;
}

/** The addresses that a Service is reached by. What is behind them stands in its EndpointSlices. */
export interface ServiceSpec {
  readonly type?: string;
  /** "None": headless. */
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly externalIPs?: readonly string[];
  readonly loadBalancerIP?: string;
  readonly externalTrafficPolicy?: string;
  readonly internalTrafficPolicy?: string;
  readonly ports?: readonly ServicePort[];
  readonly selector?: Readonly<Record<string, string>>;
}

/** One endpoint of a Service; all its `addresses` are of the slice's `addressType`. */
export interface EndpointSliceEndpoint {
  readonly addresses?: readonly string[];
  /** An absent condition counts as unknown, which readers take for ready. */
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  readonly nodeName?: string;
}

/** discovery.k8s.io/v1: its fields stand beside the metadata. */
export interface EndpointSliceResource extends Resource {
  /** Of all its endpoints. */
  readonly addressType?: "IPv4" | "IPv6" | "FQDN";
  readonly endpoints?: readonly EndpointSliceEndpoint[];
  /** Of all its endpoints; numbers of the pods' own ports. */
  readonly ports?: readonly { readonly name?: string; readonly protocol?: string; readonly port?: number }[];
}

export type PodResource = ResourceOf<PodSpec, PodStatus>;
export type NamespaceResource = Resource;
export type ServiceAccountResource = Resource;
export type KubernetesNodeResource = ResourceOf<KubernetesNodeSpec, KubernetesNodeStatus>;
export type ServiceResource = ResourceOf<ServiceSpec>;
