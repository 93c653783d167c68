import { seededRandom } from "@bulrush/base";
import type { SyncClient } from "@bulrush/sync-client";
import { startAckingClient } from "../cluster/acking-client.ts";
import { ClusterWorld } from "../cluster/cluster-world.ts";
import { SoakChurn } from "../cluster/soak-churn.ts";
import { soakSample, soakTable, type SoakRow } from "../cluster/soak-sample.ts";
import { memoryGrowth } from "../datastore-churn/memory-rule.ts";
import { OracleWorld } from "../oracle/world.ts";
import { spread } from "./cluster.ts";
import type { Scenario } from "./scenario.ts";

const NODES = ["host-a", "host-b", "host-c"] as const;
const CLIENTS = 20;
/** Of a process at rest: descriptors that a timer or a retry may hold for a moment. */
const SPARE_DESCRIPTORS = 6;
const MAX_RESIDENT_MB = 700;
const KERNEL = ["chains", "rules", "sets", "elements", "routes"] as const;
/** The kernel has some of its own, which come and go. */
const SPARE_NEIGHBOURS = 12;

/** Why a row is not what the first one at rest was. */
function difference(first: SoakRow, now: SoakRow): string | undefined {
  for (const field of KERNEL)
    if (now[field] !== first[field]) return `${now.process}: ${field} ${first[field] ?? "-"}, now ${now[field] ?? "-"}`;
  if (now.descriptors > first.descriptors + SPARE_DESCRIPTORS)
    return `${now.process}: descriptors ${first.descriptors}, now ${now.descriptors}`;
  if ((now.neighbours ?? 0) > (first.neighbours ?? 0) + SPARE_NEIGHBOURS)
    return `${now.process}: neighbours ${first.neighbours ?? 0}, now ${now.neighbours ?? 0}`;
  if ((now.queued ?? 0) > 0) return `${now.process}: ${now.queued ?? 0} sequences are queued`;
  return undefined;
}

/**
 * Cycles of churn, each of which ends at rest, with the world that it began with. What is there then must be what was
 * there after the first one.
 */
export const soak: Scenario = {
  name: "soak",
  summary:
    "churn of pods, policies and clients on the cluster of the manifests: memory, descriptors, kernel objects, queues flat",
  needsKube: true,
  async run({ quick, seed, minutes = 10, progress }) {
    const durationMs = quick ? 5000 : minutes * 60_000;
    const cycleMs = quick ? 3000 : Math.min(60_000, Math.max(10_000, durationMs / 12));
    const random = seededRandom(seed);
    const world = await ClusterWorld.create({ nodes: NODES, typhas: 2 });
    const clients: SyncClient[] = [];
    const samples: (readonly [string, readonly SoakRow[]])[] = [];
    let dials = 0;
    try {
      await world.startAll();
      const base = spread(new OracleWorld().resources());
      const churn = new SoakChurn(random, NODES);
      const dial = async (): Promise<void> => {
        clients.push(await startAckingClient(world, `soak-${dials++}`, "soak"));
      };
      /** At rest with the base: waits until it looks like the first time. */
      const rest = async (label: string): Promise<void> => {
        await Promise.all(clients.splice(0).map((client) => client.stop()));
        await world.sync(base);
        let rows: readonly SoakRow[] = [];
        await world.until(`${label}: all is as it was`, async () => {
          rows = await soakSample(world);
          const streams = rows.reduce((sum, row) => sum + (row.streams ?? 0), 0);
          const wanted = NODES.length + world.typhas.length;
          if (streams !== wanted) return `${streams} streams, not ${wanted}`;
          const [, first] = samples[0] ?? [];
          return first && rows.map((row, i) => difference(first[i] ?? row, row)).find((why) => why !== undefined);
        });
        samples.push([label, rows]);
      };
      const cycle = async (): Promise<void> => {
        for (const endMs = performance.now() + cycleMs; performance.now() < endMs; ) {
          await world.write([...base, ...churn.turn()]);
          if (clients.length >= CLIENTS) await clients.shift()?.stop();
          await dial();
        }
      };
      await world.sync(base);
      // What is made once and kept (code, buffers, sockets to the API server) is there after it.
      await cycle();
      await rest("0");
      const startMs = performance.now();
      while (performance.now() - startMs < durationMs) {
        await cycle();
        await rest(`${((performance.now() - startMs) / 60_000).toFixed(1)}`);
        progress(soakTable(samples.slice(-1)));
      }
      progress(soakTable(samples));
      const most = Math.max(...samples.flatMap(([, rows]) => rows.map(({ residentMB }) => residentMB)));
      if (most > MAX_RESIDENT_MB) throw new Error(`A process had ${most} MB resident`);
      for (const [i, { process }] of (samples[0]?.[1] ?? []).entries()) {
        const resident = samples.map(([, rows]) => ({ heapBytes: 0, rssBytes: (rows[i]?.residentMB ?? 0) << 20 }));
        const grew = memoryGrowth(resident);
        if (grew !== undefined) throw new Error(`${process}: ${grew}\n${soakTable(samples)}`);
      }
      const restarts = [...world.typhas, ...world.agents].reduce((sum, pod) => sum + pod.restarts, 0);
      if (restarts > 0) throw new Error(`${world.logs()}\n${restarts} restarts`);
      return { cycles: samples.length - 1, changes: churn.changes, dials, mostResidentMB: most, restarts };
    } finally {
      await Promise.all(clients.map((client) => client.stop()));
      await world.stop();
    }
  },
};
