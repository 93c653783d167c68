/** The four streams of KVs. Each has its own kinds, and a pipeline of its own on its way to the clients. */
export const SYNCER_TYPES = ["felix", "bgp", "tunnel-ip-allocation", "node-status"] as const;

/** What a client asks for: each has its own set of kinds. */
export type SyncerType = (typeof SYNCER_TYPES)[number];
