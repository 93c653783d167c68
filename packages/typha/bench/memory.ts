import type { TyphaBenchOptions } from "./fan-out.ts";
import { medians } from "./processes.ts";
import { reference } from "./reference.ts";
import { measureResident } from "./resident.ts";
import { type BenchRow, round } from "./row.ts";

const CLIENTS = 1000;
const PER_SECOND = 100;
const TRAFFIC_SECONDS = 20;

/** Resident memory of the server's process: what the keys take, what clients add, and what is left after traffic. */
export async function* benchMemory(options: TyphaBenchOptions = {}): AsyncGenerator<BenchRow> {
  const servers = options.quick === true ? 1 : 3;
  const filled = await medians(servers, async () => {
    const { emptyBytes, clientBytes } = await measureResident({ keys: 100_000, clients: CLIENTS });
    return { emptyBytes, clientBytes };
  });
  yield row({ keys: 100_000, clients: 0 }, filled.emptyBytes, reference("residentMegabytes", 0), 0.9);
  yield row({ keys: 100_000, clients: CLIENTS }, filled.clientBytes, reference("residentMegabytes", CLIENTS), 0.7);
  const ticks = PER_SECOND * TRAFFIC_SECONDS;
  const { trafficBytes } = await medians(servers, async () => {
    const figures = await measureResident({ keys: 10_000, clients: CLIENTS, ticks, perSecond: PER_SECOND });
    return { trafficBytes: figures.trafficBytes };
  });
  const traffic = { keys: 10_000, clients: CLIENTS, updatesPerSecond: PER_SECOND, seconds: TRAFFIC_SECONDS };
  yield row(traffic, trafficBytes, reference("residentMegabytes", "traffic"), 0.4);
}

function row(sizes: BenchRow["case"], bytes: number, wanted: number, limit: number): BenchRow {
  const megabytes = bytes / 1e6;
  const ratio = round(megabytes / wanted, 3);
  return {
    bench: "memory",
    case: sizes,
    metric: "resident memory",
    value: round(megabytes, 1),
    unit: "MB",
    reference: wanted,
    ratio,
    limit,
  };
}
