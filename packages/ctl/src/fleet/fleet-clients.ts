import type { CachesView, ClientsView, ClientView, StatusView } from "@bulrush/typha";
import type { AdminClient } from "./admin-client.ts";

/** A stream, and the Typha that it belongs to. */
export interface FleetClient extends ClientView {
  readonly typha: string;
  /** Sequences that are published and not yet in force there; null before its first report. */
  readonly behind: number | null;
}

/** All streams of these Typhas, of one syncer type if that is given. */
export async function fleetClients(
  admins: readonly AdminClient[],
  syncer: string | undefined,
): Promise<readonly FleetClient[]> {
  const lists = await Promise.all(
    admins.map(async (admin) => {
      const [{ name }, { clients }] = await Promise.all([
        admin.get<StatusView>("/api/v1/status"),
        admin.get<ClientsView>("/api/v1/clients"),
      ]);
      return clients.map((client) => ({
        typha: name,
        ...client,
        behind: client.appliedSequence === null ? null : Math.max(0, client.serverSequence - client.appliedSequence),
      }));
    }),
  );
  return lists.flat().filter((client) => syncer === undefined || client.syncer === syncer);
}

/** A cache, and the Typha that it belongs to. */
export interface FleetCache {
  readonly typha: string;
  readonly cache: CachesView["caches"][number];
}

export async function fleetCaches(admins: readonly AdminClient[]): Promise<readonly FleetCache[]> {
  const lists = await Promise.all(
    admins.map(async (admin) => {
      const [{ name }, { caches }] = await Promise.all([
        admin.get<StatusView>("/api/v1/status"),
        admin.get<CachesView>("/api/v1/caches"),
      ]);
      return caches.map((cache) => ({ typha: name, cache }));
    }),
  );
  return lists.flat();
}
