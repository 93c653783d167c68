import { runPair } from "./processes.ts";

/** Resident memory of the server's process, and what idle clients cost it. */
export interface ResidentFigures {
  /** Filled, without clients. */
  readonly emptyBytes: number;
  /** With all clients in sync for three seconds. */
  readonly clientBytes: number;
  /** After the ticks. */
  readonly trafficBytes: number;
  /** Of a core, while nothing happens but pings. */
  readonly idlePercent: number;
}

export interface ResidentOptions {
  readonly keys: number;
  readonly clients: number;
  readonly idleSeconds?: number;
  /** One key each. */
  readonly ticks?: number;
  readonly perSecond?: number;
}

/** One server, and clients that stay. */
export function measureResident(options: ResidentOptions): Promise<ResidentFigures> {
  const { keys, clients, idleSeconds = 0, ticks = 0, perSecond = 1 } = options;
  const args = [clients, idleSeconds, ticks, perSecond];
  return runPair<ResidentFigures>({ keys, perTick: 1, clients: "resident-clients.ts", args, isLean: true });
}
