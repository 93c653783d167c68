import type { QoSControls } from "../v1/value.ts";
import type { ResourceOf } from "./object.ts";

/** A port of the endpoint, which rules may name. */
export interface EndpointPortSpec {
  readonly name?: string;
  readonly protocol: string | number;
  readonly port: number;
  /** WorkloadEndpoint only. */
  readonly hostPort?: number;
  readonly hostIP?: string;
}

/** One-to-one, both ways. */
export interface NatSpec {
  readonly internalIP: string;
  readonly externalIP: string;
}

/** Made of a pod, or stored where the orchestrator is another one. */
export interface WorkloadEndpointSpec {
  readonly orchestrator: string;
  readonly workload?: string;
  /** The name of its Node. */
  readonly node: string;
  readonly containerID?: string;
  readonly pod?: string;
  readonly endpoint: string;
  readonly serviceAccountName?: string;
  /** CIDR text or addresses; each is one address. */
  readonly ipNetworks?: readonly string[];
  readonly ipNATs?: readonly NatSpec[];
  readonly ipv4Gateway?: string;
  readonly ipv6Gateway?: string;
  /** In order of evaluation. */
  readonly profiles?: readonly string[];
  readonly interfaceName?: string;
  readonly mac?: string;
  readonly ports?: readonly EndpointPortSpec[];
  /** CIDR text: source addresses that it may use beside its own. */
  readonly allowSpoofedSourcePrefixes?: readonly string[];
  readonly qosControls?: QoSControls;
}

/** At least one of `interfaceName` and `expectedIPs` is set. */
export interface HostEndpointSpec {
  readonly node?: string;
  /** "*": all interfaces of the node. */
  readonly interfaceName?: string;
  readonly expectedIPs?: readonly string[];
  /** In order of evaluation. */
  readonly profiles?: readonly string[];
  readonly ports?: readonly EndpointPortSpec[];
}

export type WorkloadEndpointResource = ResourceOf<WorkloadEndpointSpec>;
export type HostEndpointResource = ResourceOf<HostEndpointSpec>;
