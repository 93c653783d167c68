/**
 * The clients of the snapshot bench: they dial, read all that there is, and hang up.
 * argv: control socket path, sync port, floor port, clients, how many dial at once, repetitions, what is published before
 * each (0 nothing, 1 one tick, 2 a change in every part), 1 to watch the turns of the server's event loop. Prints a line
 * of JSON: the median of the repetitions.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { dialControl, settle, sharedClockMs } from "./control.ts";
import { dialLight, type LightClient } from "./light-client.ts";
import { median } from "./row.ts";
import type { SnapshotFigures } from "./snapshot.ts";

/** The reference's cached snapshot is out of date a second after its making, once something has changed. */
const EXPIRY_MS = 1300;

const [controlPath = "", ...rest] = process.argv.slice(2);
const [syncPort = 0, , clientCount = 0, atOnce = 0, repetitions = 0, before = 0, watch = 0] = rest.map(Number);
const control = await dialControl(controlPath);
const handlers = { onFrame: (): void => {} };

async function change(t: number): Promise<void> {
  if (before === 0) return;
  await control.ask({ do: "prepare", from: t, count: 1 });
  if (before === 2) await control.ask({ do: "touch", t });
  else control.tell({ do: "tick", t });
  await sleep(EXPIRY_MS);
}

async function measure(): Promise<SnapshotFigures> {
  await control.ask({ do: watch === 1 ? "watch" : "cpu" });
  const clients: LightClient[] = [];
  const startMs = sharedClockMs();
  for (let i = 0; i < clientCount; i += atOnce) {
    const dialled = Array.from({ length: Math.min(atOnce, clientCount - i) }, async (_, j) => {
      const client = await dialLight(syncPort, `node-${i + j}`, handlers);
      clients.push(client);
      await client.inSync;
    });
    await Promise.all(dialled);
  }
  const wallMs = sharedClockMs() - startMs;
  const { cpuUs, longestTurnMs, longestTurnCpuMs } = await control.ask({ do: "cpu" });
  const bytes = clients.reduce((sum, client) => sum + client.received(), 0) / clientCount;
  for (const client of clients) client.close();
  await settle();
  return { cpuMs: cpuUs / 1000 / clientCount, wallMs, bytes, longestTurnMs, longestTurnCpuMs };
}

const runs: SnapshotFigures[] = [];
// Where there are several, one more comes first and is not counted: it warms the code up.
const warmUps = repetitions > 1 ? 1 : 0;
for (let i = 0; i < warmUps + repetitions; i++) {
  await change(i + 1);
  const run = await measure();
  if (i >= warmUps) runs.push(run);
}
const middle = (pick: (run: SnapshotFigures) => number): number => median(runs.map(pick));
const figures: SnapshotFigures = {
  cpuMs: middle((run) => run.cpuMs),
  wallMs: middle((run) => run.wallMs),
  bytes: middle((run) => run.bytes),
  longestTurnMs: middle((run) => run.longestTurnMs),
  longestTurnCpuMs: middle((run) => run.longestTurnCpuMs),
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
