import type { FlowSource } from "./flow-prefix.ts";

/** One flow that a rule has denied or logged. Plain data that survives structured cloning. */
export interface FlowRecord extends FlowSource {
  /** Unix ms of the first packet. */
  readonly atMs: number;
  /** "default/web" for a local workload, the interface's name for a host endpoint. "" where it is not known any more. */
  readonly endpoint: string;
  readonly interfaceName: string;
  readonly source: string;
  readonly destination: string;
  /** "tcp", "udp", ..., or the number. */
  readonly protocol: string;
  readonly sourcePort?: number;
  readonly destinationPort?: number;
  readonly icmp?: { readonly type: number; readonly code: number };
  /** That were told of: what is over the rate of its rule is not. */
  readonly packets: number;
}

/** What the flow log tells of one span of time. */
export interface FlowBatch {
  /** In the order of their first packets. */
  readonly flows: readonly FlowRecord[];
  /** Packets that were not read, or were of flows beyond the bound. At least: the kernel does not count them. */
  readonly lost: number;
}
