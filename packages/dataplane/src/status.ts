import type { WorkloadEndpointID } from "@bulrush/proto";

/**
 * What the dataplane says of itself, sent whenever it changes (at most once per pass of the loop) and every 10 s as a
 * sign of life. Plain data that survives structured cloning.
 */
export interface DataplaneStatus {
  /**
   *     waiting-datastore ──InSync──> waiting-interfaces ──monitor listed──> programming ──applied──> in-sync
   *                                                                              ^                      │
   *                                                                              └──── a write failed ──┘ (retrying)
   */
  readonly phase: "waiting-datastore" | "waiting-interfaces" | "programming" | "in-sync" | "retrying" | "stopped";
  /** One sentence for people: what it waits for, or what failed last. */
  readonly reason: string;
  /** True once the rules and sets of the first apply are in the kernel, for as long as the loop runs. */
  readonly ready: boolean;
  readonly counters: DataplaneCounters;
}

/** Totals since start, and sizes of the moment. */
export interface DataplaneCounters {
  /** Taken off the queue, whether they changed anything or not. */
  readonly messages: number;
  readonly applies: number;
  readonly applyFailures: number;
  /** nf_tables batches that wrote something. */
  readonly nftTransactions: number;
  /** Whole read-backs of the nf_tables state. */
  readonly nftReads: number;
  readonly routeWrites: number;
  /** Objects found different in the kernel at a read-back after the first, by kind. */
  readonly drift: Readonly<Record<DriftKind, number>>;
  readonly chains: { readonly ip: number; readonly ip6: number };
  readonly rules: { readonly ip: number; readonly ip6: number };
  readonly sets: { readonly ip: number; readonly ip6: number };
  /** Of ours, as the kernel has them. */
  readonly routes: { readonly ip: number; readonly ip6: number };
  /** Devices of flow tables, and wanted ones that the kernel does not have. */
  readonly flowtableDevices: { readonly present: number; readonly missing: number };
  /** How long the last apply took; 0 before it. */
  readonly lastApplyMs: number;
  /** From the dataplane's start to the end of the first apply; 0 before it. */
  readonly firstApplyMs: number;
}

/** Kinds of objects that a read-back compares. */
export type DriftKind = "chain" | "set" | "map" | "route" | "neighbour" | "device" | "sysctl";

/** Messages from the dataplane to the process, in the names of the reference system. */
export type FromDataplane =
  /** Sent once, after the first apply: rules and sets are in the kernel. What else has failed is tried again. */
  | { readonly msg: "DataplaneInSync" }
  | { readonly msg: "WorkloadEndpointStatusUpdate"; readonly id: WorkloadEndpointID; readonly status: EndpointStatus }
  | { readonly msg: "WorkloadEndpointStatusRemove"; readonly id: WorkloadEndpointID }
  | { readonly msg: "HostEndpointStatusUpdate"; readonly id: string; readonly status: EndpointStatus }
  | { readonly msg: "HostEndpointStatusRemove"; readonly id: string }
  | WireguardStatusUpdate
  | LiveMigrationArrival;

/** The key of this host's WireGuard device is another than the datastore has. "": there is no device. */
export interface WireguardStatusUpdate {
  readonly msg: "WireguardStatusUpdate";
  readonly ip_version: 4 | 6;
  readonly public_key: string;
}

/** A machine that was to move here has said that it is here. Sent once for each migration. */
export interface LiveMigrationArrival {
  readonly msg: "LiveMigrationArrival";
  readonly id: WorkloadEndpointID;
  /** Of both families, without lengths. */
  readonly addresses: readonly string[];
}

/**
 * "up": its interface is up, and is set up as the endpoint wants it. "down": not yet, or not any more. "error": a host
 * endpoint that no interface fits.
 */
export type EndpointStatus = "up" | "down" | "error";
