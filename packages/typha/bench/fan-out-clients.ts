/**
 * The clients and the driver of the fan-out bench, in one process: light clients that find frames and look for the
 * tick's marker, and a lock-step that sends the next tick only after every client has the last.
 * argv: control socket path, sync port, floor port, clients, ticks a repetition, repetitions. Prints a line of JSON: CPU
 * microseconds per client and message of each repetition, ours and the floor's, and the bytes of a message.
 */
import { once } from "node:events";
import { type Command, dialControl, settle } from "./control.ts";
import { dialBench, dialLight, type LightClient } from "./light-client.ts";
import { newestTick } from "./newest-tick.ts";

const [controlPath = "", ...rest] = process.argv.slice(2);
const [syncPort = 0, floorPort = 0, clientCount = 0, tickCount = 0, repetitions = 0] = rest.map(Number);

const control = await dialControl(controlPath);

// Lock-step: `arrived` is called once per client and round.
let missing = 0;
let onRound: () => void = () => {};
const arrived = (): void => {
  if (--missing === 0) onRound();
};
const round = (command: Command): Promise<void> =>
  new Promise((resolve) => {
    missing = clientCount;
    onRound = resolve;
    control.tell(command);
  });

let wanted = 0;
const handlers = {
  onFrame: (frame: Buffer): void => {
    if (newestTick(frame) === wanted) arrived();
  },
};
const clients: LightClient[] = [];
for (let i = 0; i < clientCount; i += 32) {
  const count = Math.min(32, clientCount - i);
  const dialled = await Promise.all(
    Array.from({ length: count }, (_, j) => dialLight(syncPort, `node-${i + j}`, handlers)),
  );
  await Promise.all(dialled.map(({ inSync }) => inSync));
  clients.push(...dialled);
}
const received = (): number => clients.reduce((sum, client) => sum + client.received(), 0);

/** A client of the floor: counts bytes. */
async function floorClient(): Promise<{ expect(bytes: number): void }> {
  let left = 0;
  const socket = dialBench(floorPort, (bytes) => {
    left -= bytes.length;
    if (left === 0) arrived();
  });
  await once(socket, "secureConnect");
  return { expect: (bytes) => (left = bytes) };
}

const floorClients: { expect(bytes: number): void }[] = [];
for (let i = 0; i < clientCount; i++) floorClients.push(await floorClient());

let t = 1;

/** One repetition: the first tick is not counted, nor what kernels acknowledge late. */
async function measureOurs(): Promise<{ readonly us: number; readonly bytes: number; readonly frameBytes: number }> {
  await control.ask({ do: "prepare", from: t, count: tickCount + 1 });
  wanted = t++;
  await round({ do: "tick", t: wanted });
  await settle();
  await control.ask({ do: "cpu" });
  const before = received();
  for (let i = 0; i < tickCount; i++) {
    wanted = t++;
    await round({ do: "tick", t: wanted });
  }
  const { cpuUs, frameBytes } = await control.ask({ do: "cpu" });
  const messages = tickCount * clientCount;
  return { us: cpuUs / messages, bytes: (received() - before) / messages, frameBytes };
}

async function measureFloor(frameBytes: number): Promise<number> {
  await control.ask({ do: "prepare", from: t, count: 0 });
  const floorRound = (): Promise<void> => {
    for (const client of floorClients) client.expect(frameBytes);
    return round({ do: "floor" });
  };
  await floorRound();
  await settle();
  await control.ask({ do: "cpu" });
  for (let i = 0; i < tickCount; i++) await floorRound();
  const { cpuUs } = await control.ask({ do: "cpu" });
  return cpuUs / (tickCount * clientCount);
}

const ours: number[] = [];
const floor: number[] = [];
let bytes = 0;
// One repetition more than is counted: the first warms the code up. Ours and the floor take turns.
for (let repetition = 0; repetition <= repetitions; repetition++) {
  const measured = await measureOurs();
  const floorUs = await measureFloor(measured.frameBytes);
  bytes = measured.bytes;
  if (repetition === 0) continue;
  ours.push(measured.us);
  floor.push(floorUs);
}
process.stdout.write(`${JSON.stringify({ ours, floor, bytes })}\n`);
process.exit(0);
