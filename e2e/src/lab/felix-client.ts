import { systemClock } from "@bulrush/base";
import { createSyncClient, type SyncClient, type SyncClientOptions } from "@bulrush/sync-client";

/** One more client of the `felix` stream, of no host, that is quick to come back. The caller starts and stops it. */
export function createFelixClient(options: Pick<SyncClientOptions, "servers" | "tls" | "callbacks">): SyncClient {
  return createSyncClient({
    ...options,
    hostname: "lab-follower",
    info: "lab",
    syncer: "felix",
    clock: systemClock({ keepAlive: true }),
    random: Math.random,
    backoffInitialMs: 50,
    backoffMaxMs: 250,
  });
}
