import type { SyncClient } from "@bulrush/sync-client";
import { startAckingClient } from "./acking-client.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import type { OperatorView } from "./operator-view.ts";

/**
 * Brings so many clients more than the fleet takes with this limit, and looks for `holdsMs` and longer whether a Typha
 * ever has more streams; who finds no place is told so, and the hosts are among those that have one. The number that was
 * told so.
 *
 * @throws Error when a Typha had more, or a host lost its place.
 */
export async function fillFleet(
  world: ClusterWorld,
  view: OperatorView,
  options: { readonly limit: number; readonly tooMany: number; readonly holdsMs: number },
): Promise<number> {
  const { limit, tooMany, holdsMs } = options;
  const clients: SyncClient[] = [];
  const look = async (): Promise<number> => {
    const counts = (await view.statuses()).map(({ connections }) => connections.streaming);
    const most = Math.max(...counts);
    if (most > limit) throw new Error(`A Typha had ${most} streams, above its limit of ${limit}`);
    return counts.reduce((sum, count) => sum + count, 0);
  };
  try {
    const room = limit * world.typhas.length - (await look());
    const refused = new Set<number>();
    for (let i = 0; i < room + tooMany; i++) clients.push(await startAckingClient(world, `extra-${i}`, "operations"));
    const endMs = performance.now() + holdsMs;
    let broken: Error | undefined;
    await world.until("the fleet is full, and the others are told so", async () => {
      const streams = await look().catch((error: unknown) => {
        broken ??= error as Error;
        return 0;
      });
      for (const [i, client] of clients.entries())
        if (client.state().lastError?.message.includes("too-many-connections") === true) refused.add(i);
      if (broken !== undefined) return undefined;
      if (streams !== limit * world.typhas.length) return `${streams} streams`;
      if (refused.size < tooMany) return `${refused.size} were told so`;
      return performance.now() < endMs ? "it is to hold for a while" : undefined;
    });
    if (broken !== undefined) throw broken as Error;
    const here = new Set((await view.connections()).values());
    const lost = world.agents.filter(({ node }) => !here.has(node.name)).map(({ name }) => name);
    if (lost.length > 0) throw new Error(`Agents without a stream: ${lost.join(", ")}`);
    return refused.size;
  } finally {
    await Promise.all(clients.map((client) => client.stop()));
  }
}
