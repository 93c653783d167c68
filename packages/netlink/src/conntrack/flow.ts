/** One direction of a tracked flow, as packets of that direction carry it. */
export interface FlowTuple {
  readonly source: string;
  readonly destination: string;
  /** Missing for protocols without ports. */
  readonly sourcePort?: number;
  readonly destinationPort?: number;
}

/** A tracked connection. */
export interface Flow {
  readonly family: 4 | 6;
  /** IP protocol number. */
  readonly protocol: number;
  readonly original: FlowTuple;
  readonly reply: FlowTuple;
  /** IPS_ bits: expected 1, seen-reply 2, assured 4, snat 0x10, dnat 0x20, offload 0x4000. */
  readonly status: number;
  readonly mark: number;
  readonly zone: number;
}

/** Which flows: all the addresses given must match exactly. At least one is needed, and all of one family. */
export interface FlowFilter {
  readonly originalSource?: string;
  readonly originalDestination?: string;
  readonly replySource?: string;
  readonly replyDestination?: string;
}

/** The connection tracking of one network namespace. Every call is synchronous. One thread at a time. */
export interface ConntrackConnection {
  /** The flows that match, or all flows of both families. */
  flows(filter?: FlowFilter): Flow[];
  /**
   * Removes exactly the flows that match. An empty filter is refused (NETLINK_ARGUMENT): the kernel would flush
   * everything.
   */
  deleteFlows(filter: FlowFilter): void;
  /**
   * Removes every flow that one of these addresses started or answers: by original source and by reply source. Many
   * addresses at once cost little more than one. Throws NETLINK_ARGUMENT, before anything is removed, for what is no
   * address.
   */
  deleteFlowsOf(addresses: readonly string[]): void;
  /** Lists all flows, and removes those that `matches` says yes to. How many were removed; others may have ended meanwhile. */
  deleteFlowsWhere(matches: (flow: Flow) => boolean): number;
  /** Closes the socket. No call may follow it. */
  close(): void;
}
