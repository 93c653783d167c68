import type { QoSControls } from "../v1/value.ts";
import type { ResourceOf } from "./object.ts";

export interface EndpointPortSpec {
  readonly name?: string;
  readonly protocol: string | number;
  readonly port: number;
  /** WorkloadEndpoint only. */
  readonly hostPort?: number;
  readonly hostIP?: string;
}

export interface NatSpec {
  readonly internalIP: string;
  readonly externalIP: string;
}

export interface WorkloadEndpointSpec {
  readonly orchestrator: string;
  readonly workload?: string;
  readonly node: string;
  readonly containerID?: string;
  readonly pod?: string;
  readonly endpoint: string;
  readonly serviceAccountName?: string;
  readonly ipNetworks?: readonly string[];
  readonly ipNATs?: readonly NatSpec[];
  readonly ipv4Gateway?: string;
  readonly ipv6Gateway?: string;
  readonly profiles?: readonly string[];
  readonly interfaceName?: string;
  readonly mac?: string;
  readonly ports?: readonly EndpointPortSpec[];
  readonly allowSpoofedSourcePrefixes?: readonly string[];
  readonly qosControls?: QoSControls;
}

export interface HostEndpointSpec {
  readonly node?: string;
  /** "*": all interfaces of the node. */
  readonly interfaceName?: string;
  readonly expectedIPs?: readonly string[];
  readonly profiles?: readonly string[];
  readonly ports?: readonly EndpointPortSpec[];
}

export type WorkloadEndpointResource = ResourceOf<WorkloadEndpointSpec>;
export type HostEndpointResource = ResourceOf<HostEndpointSpec>;
