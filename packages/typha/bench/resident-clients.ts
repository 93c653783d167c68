/**
 * The clients of the benches of connections and memory: they dial, stay, and answer pings.
 * argv: control socket path, sync port, floor port, clients, seconds in which nothing happens, ticks that are then
 * published, ticks a second. Prints a line of JSON: what the server's process has and needs.
 */
import { dialControl, settle, sharedClockMs } from "./control.ts";
import { dialLight } from "./light-client.ts";
import type { ResidentFigures } from "./resident.ts";

const AT_ONCE = 32;
const SETTLE_MS = 3000;

const [controlPath = "", ...rest] = process.argv.slice(2);
const [syncPort = 0, , clientCount = 0, idleSeconds = 0, ticks = 0, perSecond = 1] = rest.map(Number);
const control = await dialControl(controlPath);
const handlers = { onFrame: (): void => {} };

const { residentBytes: emptyBytes } = await control.ask({ do: "cpu" });
for (let i = 0; i < clientCount; i += AT_ONCE) {
  const dialled = Array.from({ length: Math.min(AT_ONCE, clientCount - i) }, async (_, j) => {
    const client = await dialLight(syncPort, `node-${i + j}`, handlers);
    await client.inSync;
  });
  await Promise.all(dialled);
}
await settle(SETTLE_MS);
const startMs = sharedClockMs();
const { residentBytes: clientBytes } = await control.ask({ do: "cpu" });
await settle(1000 * idleSeconds);
const { cpuUs } = await control.ask({ do: "cpu" });
const idleMs = sharedClockMs() - startMs;
if (ticks > 0) {
  await control.ask({ do: "prepare", from: 1, count: ticks });
  await control.ask({ do: "pace", from: 1, count: ticks, perSecond });
}
const { residentBytes: trafficBytes } = await control.ask({ do: "cpu" });
const figures: ResidentFigures = { emptyBytes, clientBytes, trafficBytes, idlePercent: cpuUs / 10 / idleMs };
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
