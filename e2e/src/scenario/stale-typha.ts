import { seededRandom, systemClock } from "@bulrush/base";
import { EtcdSets, writeMany } from "../fleet/etcd-sets.ts";
import { SetModel } from "../fleet/set-model.ts";
import { TyphaFleet } from "../fleet/typha-fleet.ts";
import { LabNetwork } from "../lab/network.ts";
import { until } from "./agent-kill.ts";
import type { Scenario } from "./scenario.ts";

const TYPHAS = [0, 1, 2] as const;
const KEYS = 300;
/** A busy machine takes its time. */
const WAIT_MS = 1_800_000;
/** A kind that says nothing is asked after half a minute; an answer takes its time on a busy machine. */
const STALE_SECS = "50";

/**
 * ```
 *   etcd <--TcpProxy, which can swallow everything-- Typha 0, 1, 2 <-- mTLS -- clients, all in this process
 * ```
 */
export const staleTypha: Scenario = {
  name: "stale-typha",
  summary:
    "Typhas cut off from their datastore: they say so, their clients leave for fresher ones, nobody loses anything",
  needsKube: true,
  async run({ quick, seed, progress }) {
    // A new namespace has no loopback device that is up.
    new LabNetwork();
    const clients = quick ? 15 : 300;
    const settings = { TYPHA_STALEAFTERSECS: STALE_SECS, TYPHA_SERVERPINGINTERVALSECS: "1" };
    const clock = systemClock({ keepAlive: true });
    const store = await EtcdSets.start();
    const fleet = await TyphaFleet.create({ store, clock, random: seededRandom(seed), settings });
    const sets = new SetModel(store);
    const everybodyHas = (): boolean => fleet.clients.every((client) => sets.isHeldBy(client));
    try {
      await writeMany(KEYS, (i) => sets.set(`set-${i}`, i));
      for (const i of TYPHAS) await fleet.startTypha(i);
      await until(() => TYPHAS.every((i) => fleet.health(i).ready), WAIT_MS);
      await fleet.addClients(clients, WAIT_MS);
      await until(everybodyHas, WAIT_MS);

      fleet.link(0).cut();
      await sets.set("set-0", 1000);
      await sets.delete("set-1");
      await until(() => !fleet.health(0).ready, WAIT_MS);
      const words = fleet.health(0).text;
      if (!/felix-cache.*(stale|no answer)/.test(words)) throw new Error(`It does not say why:\n${words}`);
      await until(() => fleet.clients.every((client) => (fleet.serverOf(client) ?? 0) > 0), WAIT_MS);
      await until(everybodyHas, WAIT_MS);
      progress(`Typha 0 is stale and has no clients any more`);

      for (const client of fleet.clients) client.forget();
      for (const i of [1, 2]) fleet.link(i).cut();
      await sets.set("set-2", 1001);
      await sets.delete("set-3");
      await until(() => TYPHAS.every((i) => !fleet.health(i).ready), WAIT_MS);
      // Long enough for everybody to have tried everything.
      await new Promise((resolve) => setTimeout(resolve, quick ? 3000 : 20_000));
      const updates = fleet.clients.reduce((sum, client) => sum + client.updates, 0);
      if (updates > 0) throw new Error(`${updates} updates came from Typhas that are cut off`);
      progress("all are cut off, and nobody was told anything");

      for (const i of TYPHAS) fleet.link(i).mend();
      await until(everybodyHas, WAIT_MS);
      await until(() => TYPHAS.every((i) => fleet.health(i).ready), WAIT_MS);
      const wrongDeletes = fleet.clients.reduce((sum, client) => sum + client.wrongDeletes, 0);
      if (wrongDeletes > 0) throw new Error(`${wrongDeletes} keys were deleted that are there`);
      return { clients, keys: KEYS, wrongDeletes };
    } finally {
      await fleet.stop();
      await store.stop();
    }
  },
};
