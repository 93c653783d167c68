import { seededRandom, systemClock } from "@bulrush/base";
import { TyphaFleet } from "../fleet/typha-fleet.ts";
import { LabNetwork } from "../lab/network.ts";
import { until } from "./agent-kill.ts";
import type { Scenario } from "./scenario.ts";

const TYPHAS = [0, 1, 2] as const;
/** A busy machine takes its time. */
const WAIT_MS = 240_000;
/** Of the bytes of a whole snapshot for each client. */
const MAX_SHARE = 0.03;

export const rollingRestart: Scenario = {
  name: "rolling-restart",
  summary: "all Typhas restarted one after the other: hardly a byte moves, and no agent's graph sees an update",
  async run({ quick, seed, progress }) {
    // A new namespace has no loopback device that is up.
    new LabNetwork();
    const clients = quick ? 12 : 300;
    const keys = quick ? 1500 : 50_000;
    const clock = systemClock({ keepAlive: true });
    const fleet = await TyphaFleet.create({ clock, random: seededRandom(seed) });
    try {
      for (let i = 0; i < keys; i++) fleet.store.set(`set-${i}`, i);
      for (const i of TYPHAS) await fleet.startTypha(i);
      await until(() => TYPHAS.every((i) => fleet.health(i).ready), WAIT_MS);
      progress(`${keys} keys are served by each Typha`);
      fleet.addClients(clients);
      await until(() => fleet.clients.every((client) => client.isInSync && client.versions.size >= keys), WAIT_MS);
      progress(`${clients} clients have them all`);
      const wanted = new Map(fleet.clients[0]?.versions);
      const snapshotBytes = await fleet.snapshotBytes();
      const before = await settledBytes(fleet, clients * snapshotBytes);
      for (const client of fleet.clients) client.forget();
      for (const i of TYPHAS) {
        await fleet.stopTypha(i);
        await fleet.startTypha(i);
        await until(() => fleet.health(i).ready, WAIT_MS);
        await until(() => fleet.clients.every((client) => fleet.serverOf(client) !== undefined), WAIT_MS);
        progress(`Typha ${i} was restarted; ${(await fleet.bytesSent()) - before} bytes so far`);
      }
      await until(() => fleet.clients.every((client) => client.isInSync), WAIT_MS);
      const moved = (await settledBytes(fleet, 0)) - before;
      const share = moved / (clients * snapshotBytes);
      const updates = fleet.clients.reduce((sum, client) => sum + client.updates, 0);
      if (updates > 0) throw new Error(`${updates} updates reached the agents' graphs`);
      if (!fleet.clients.every((client) => client.holds(wanted))) throw new Error("An agent has another state");
      if (share >= MAX_SHARE) throw new Error(`${moved} bytes moved: ${share} of all snapshots`);
      return { clients, keys, moved, snapshotBytes, share: Math.round(share * 1e5) / 1e5, updates };
    } finally {
      await fleet.stop();
    }
  },
};

/** The bytes sent once all are counted, which happens once a second. */
async function settledBytes(fleet: TyphaFleet, atLeast: number): Promise<number> {
  let bytes = 0;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const now = await fleet.bytesSent();
    if (now === bytes && now >= atLeast) return now;
    bytes = now;
  }
}
