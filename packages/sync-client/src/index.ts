export { createSyncClient } from "./client.ts";
export { SYNC_CLIENT_ERROR_CODES, SyncClientError, type SyncClientErrorCode } from "./errors.ts";
export type {
  HeldState,
  SyncClient,
  SyncClientCallbacks,
  SyncClientCounts,
  SyncClientOptions,
  SyncClientPhase,
  SyncClientState,
} from "./options.ts";
export { formatServerAddress, parseServerAddress, type ServerAddress } from "./server-address.ts";
export { type TLSMaterial, type TLSParameters, type TLSSource, tlsFromParameters } from "./tls.ts";
export { addressServers } from "./discovery/address-servers.ts";
export { inClusterSlices, type InClusterOptions } from "./discovery/in-cluster-slices.ts";
export {
  type ServiceServers,
  serviceServers,
  type SliceEvent,
  type SliceFeed,
} from "./discovery/service-servers.ts";
export type { ServerSource } from "./server-source.ts";
export { chainOf, inspectFiles, type TLSFiles, type TLSFinding, type TLSSide } from "./tls/inspect-files.ts";
export { identityFinding, type InspectOptions, inspectServer } from "./tls/inspect-server.ts";
export { tlsOptions } from "./tls-check.ts";
