import type { SyncClient, SyncClientOptions } from "./options.ts";

/** Follows one server after another, for ever. Nothing happens before `start`. */
export function createSyncClient(options: SyncClientOptions): SyncClient {
  throw new Error(`Not there yet: ${options.info}`);
}
