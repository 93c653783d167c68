import type { TyphaBenchOptions } from "./fan-out.ts";
import { medians, scaled } from "./processes.ts";
import { reference } from "./reference.ts";
import { measureResident } from "./resident.ts";
import { type BenchRow, round } from "./row.ts";

const CLIENTS = 1000;
const KEYS = 100;
const IDLE_SECONDS = 10;

/**
 * What a client costs that only stays: resident memory, and CPU of the pings. A thousand of them on 100 keys, mutual TLS,
 * server on core 0, clients on core 1. (A connection's beginning is in `benchSnapshot`.)
 */
export async function* benchConnections(options: TyphaBenchOptions = {}): AsyncGenerator<BenchRow> {
  const servers = options.quick === true ? 1 : 5;
  const { scale, result } = await scaled(() =>
    medians(servers, async () => {
      const { emptyBytes, clientBytes, idlePercent } = await measureResident({
        keys: KEYS,
        clients: CLIENTS,
        idleSeconds: IDLE_SECONDS,
      });
      return { perClientBytes: (clientBytes - emptyBytes) / CLIENTS, idlePercent };
    }),
  );
  const common = { bench: "connections", case: { clients: CLIENTS, keys: KEYS } };
  const kilobytes = result.perClientBytes / 1000;
  const wanted = reference("residentPerClientKilobytes");
  yield {
    ...common,
    metric: "resident memory",
    value: round(kilobytes, 1),
    unit: "KB per idle client",
    reference: wanted,
    ratio: round(kilobytes / wanted, 3),
    limit: 0.5,
  };
  const wantedPercent = reference("idlePercent") * scale;
  yield {
    ...common,
    metric: "server CPU of idle clients",
    value: round(result.idlePercent, 2),
    unit: "% of a core",
    reference: round(wantedPercent, 2),
    ratio: round(result.idlePercent / wantedPercent, 3),
    limit: 0.3,
  };
}
