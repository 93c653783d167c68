import { systemClock } from "@bulrush/base";
import { createSyncClient, type SyncClient } from "@bulrush/sync-client";
import type { ClusterWorld } from "./cluster-world.ts";

/** A started client of the felix stream that acknowledges all and keeps nothing. It belongs to the caller, who stops it. */
export async function startAckingClient(world: ClusterWorld, hostname: string, info: string): Promise<SyncClient> {
  const client: SyncClient = createSyncClient({
    servers: world.servers(),
    tls: await world.clientTls(),
    hostname,
    info,
    syncer: "felix",
    clock: systemClock({ keepAlive: true }),
    random: Math.random,
    callbacks: {
      onUpdates: () => undefined,
      onStatusUpdated: () => undefined,
      onSequence: (sequence) => client.ack(sequence),
    },
  });
  client.start();
  return client;
}
