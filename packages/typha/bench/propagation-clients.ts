/**
 * The clients of the propagation bench: they note when the last of them has each tick.
 * argv: control socket path, sync port, floor port, clients, ticks a second, ticks. Prints a line of JSON: percentiles of
 * the time from a publish to its last client, in ms, and the server's share of its core.
 */
import { dialControl, settle, sharedClockMs } from "./control.ts";
import { dialLight } from "./light-client.ts";
import { newestTick } from "./newest-tick.ts";
import type { PropagationFigures } from "./propagation.ts";

/** Ticks that are not counted: they warm the code up. */
const WARM_UP = 20;

const [controlPath = "", ...rest] = process.argv.slice(2);
const [syncPort = 0, , clientCount = 0, perSecond = 0, counted = 0] = rest.map(Number);
const tickCount = WARM_UP + counted;
const control = await dialControl(controlPath);

/** By tick: how many clients have it, and when the last one got it. */
const arrivals = new Uint32Array(tickCount + 1);
const lastAtMs = new Float64Array(tickCount + 1);
let messages = 0;
const all = Promise.withResolvers<void>();

function lightHandlers(): { onFrame(frame: Buffer): void } {
  let seen = 0;
  return {
    onFrame(frame) {
      const newest = newestTick(frame);
      if (newest <= seen) return;
      messages++;
      while (seen < newest) {
        seen++;
        arrivals[seen] = (arrivals[seen] ?? 0) + 1;
        if (arrivals[seen] !== clientCount) continue;
        lastAtMs[seen] = sharedClockMs();
        if (seen === tickCount) all.resolve();
      }
    },
  };
}

for (let i = 0; i < clientCount; i += 32) {
  const count = Math.min(32, clientCount - i);
  await Promise.all(
    Array.from({ length: count }, async (_, j) => {
      const client = await dialLight(syncPort, `node-${i + j}`, lightHandlers());
      await client.inSync;
    }),
  );
}
await control.ask({ do: "prepare", from: 1, count: tickCount });
await control.ask({ do: "pace", from: 1, count: WARM_UP, perSecond: Math.min(perSecond, 25) });
await settle(500);
await control.ask({ do: "cpu" });
const startMs = sharedClockMs();
const paced = await control.ask({ do: "pace", from: WARM_UP + 1, count: counted, perSecond });
await all.promise;
const wallMs = sharedClockMs() - startMs;
// Since the answer to `pace`: for what was still on its way.
const { cpuUs } = await control.ask({ do: "cpu" });
const latencies = paced.publishedAtMs
  .map((atMs, index) => (lastAtMs[WARM_UP + 1 + index] ?? Number.NaN) - atMs)
  .toSorted((a, b) => a - b);
const at = (share: number): number => latencies[Math.ceil(share * latencies.length) - 1] ?? Number.NaN;
const figures: PropagationFigures = {
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  maxMs: at(1),
  corePercent: (paced.cpuUs + cpuUs) / 10 / wallMs,
  kvsPerMessage: (tickCount * clientCount) / messages,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
