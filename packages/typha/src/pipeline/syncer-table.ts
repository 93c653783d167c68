import type { SyncerType } from "@bulrush/proto";

/** How the stream of one syncer type is made and reported. */
export interface SyncerTypeFacts {
  /** Name of its cache among the health reporters. */
  readonly healthName: string;
  /** Who reads it. */
  readonly clients: string;
  /** Served by this build. A hello for another type is rejected with the reason. */
  readonly served: boolean;
}

/** The four streams of Typha. */
export const SYNCER_TABLE: Readonly<Record<SyncerType, SyncerTypeFacts>> = {
  felix: { healthName: "felix-cache", clients: "host agents", served: true },
  bgp: { healthName: "bgp-cache", clients: "BGP configuration daemons", served: false },
  "tunnel-ip-allocation": {
    healthName: "tunnel-ip-allocation-cache",
    clients: "tunnel address allocators",
    served: false,
  },
  "node-status": { healthName: "node-status-cache", clients: "node status reporters", served: false },
};
