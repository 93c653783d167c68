import { seededRandom, systemClock } from "@bulrush/base";
import { BAD_WAYS } from "../fleet/bad-peer.ts";
import { MemoryStore } from "../fleet/memory-store.ts";
import { SetModel } from "../fleet/set-model.ts";
import { TyphaFleet } from "../fleet/typha-fleet.ts";
import { LabNetwork } from "../lab/network.ts";
import { until } from "./agent-kill.ts";
import type { Scenario } from "./scenario.ts";

const TYPHAS = [0, 1, 2] as const;
/** A busy machine takes its time. */
const WAIT_MS = 1_800_000;
const MAX_HEAP_GROWTH = 512 * 1024 * 1024;

export const typhaChaos: Scenario = {
  name: "typha-chaos",
  summary: "Typhas killed, drained, cut off and burdened at random: every client ends with what the datastore has",
  async run({ quick, seed, steps = quick ? 12 : 300, progress }) {
    // A new namespace has no loopback device that is up.
    new LabNetwork();
    const clients = quick ? 15 : 300;
    const random = seededRandom(seed);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    const settings = { TYPHA_STALEAFTERSECS: "6", TYPHA_SERVERPINGINTERVALSECS: "1", TYPHA_SERVERPONGTIMEOUTSECS: "5" };
    const clock = systemClock({ keepAlive: true });
    const store = new MemoryStore();
    const fleet = await TyphaFleet.create({ store, clock, random: Math.random, settings });
    const beat = setInterval(() => store.beat(), 500);
    const sets = new SetModel(store);
    let version = 0;
    let names = 0;
    // A name never comes back: a delete of one that is there is wrong, whenever it comes.
    const live: string[] = [];
    const add = (): void => {
      const name = `set-${names++}`;
      live.push(name);
      sets.set(name, ++version);
    };
    const counts: Record<string, number> = {};
    const cut = new Set<number>();
    const restarts = new Map<number, Promise<void>>();
    const restart = (how: "drain" | "kill"): void => {
      const i = pick(TYPHAS);
      if (restarts.has(i) || restarts.size === TYPHAS.length - 1) return;
      const done = fleet
        .stopTypha(i, how)
        .then(() => fleet.startTypha(i))
        .finally(() => restarts.delete(i));
      restarts.set(i, done);
      cut.delete(i);
    };
    const actions: Readonly<Record<string, () => void>> = {
      add: () => add(),
      change: () => sets.set(pick(live), ++version),
      remove: () => sets.delete(live.splice(Math.floor(random() * live.length), 1)[0] ?? ""),
      kill: () => restart("kill"),
      drain: () => restart("drain"),
      cut: () => {
        const i = pick(TYPHAS);
        if (restarts.has(i)) return;
        fleet.link(i).cut();
        cut.add(i);
      },
      mend: () => {
        for (const i of cut) if (!restarts.has(i)) fleet.link(i).mend();
        cut.clear();
      },
      blackHole: () => fleet.blackHole(pick(TYPHAS)),
      badPeer: () => fleet.addBadPeer(pick(TYPHAS), pick(BAD_WAYS)),
    };
    try {
      for (let i = 0; i < 500; i++) add();
      for (const i of TYPHAS) await fleet.startTypha(i);
      await fleet.addClients(clients, WAIT_MS);
      await until(() => fleet.clients.every((client) => sets.isHeldBy(client)), WAIT_MS);
      const startBytes = process.memoryUsage().heapUsed;
      for (let step = 0; step < steps; step++) {
        // Whatever else happens, things change all the time.
        for (let i = 0; i < 5; i++) actions[pick(["add", "change", "change", "remove"])]?.();
        const action = pick(["kill", "drain", "cut", "mend", "blackHole", "badPeer", "badPeer"]);
        counts[action] = (counts[action] ?? 0) + 1;
        actions[action]?.();
        await new Promise((resolve) => setTimeout(resolve, 200 + random() * 1000));
        if (step % 20 === 19) progress(`${step + 1} of ${steps} steps`);
      }
      progress("all is mended");
      await Promise.all(restarts.values());
      actions["mend"]?.();
      await until(() => fleet.clients.every((client) => client.isInSync && sets.isHeldBy(client)), WAIT_MS);
      const wrongDeletes = fleet.clients.reduce((sum, client) => sum + client.wrongDeletes, 0);
      if (wrongDeletes > 0) throw new Error(`${wrongDeletes} keys were deleted that are there`);
      const growth = process.memoryUsage().heapUsed - startBytes;
      if (growth > MAX_HEAP_GROWTH) throw new Error(`The heap grew by ${growth} bytes`);
      return { clients, steps, keys: live.length, wrongDeletes, heapGrowth: growth, ...counts };
    } finally {
      clearInterval(beat);
      await fleet.stop();
    }
  },
};
