import type { TyphaBenchOptions } from "./fan-out.ts";
import { medians, runPair, scaled } from "./processes.ts";
import { reference } from "./reference.ts";
import { type BenchRow, round } from "./row.ts";

/** What the clients report: per client but for `wallMs` (first dial to last in-sync) and the turns. */
export interface SnapshotFigures {
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Without those of TLS. */
  readonly bytes: number;
  /** Only where the turns were watched. */
  readonly longestTurnMs: number;
  readonly longestTurnCpuMs: number;
}

const KEYS = 100_000;
/** Header, content type and tag for each 16 KiB (RFC 8446 section 5.2), and the handshake. */
const TLS_SHARE = 22 / 16_384;
const HANDSHAKE_BYTES = 3000;

/** What is published before the clients dial. */
type Before = "nothing" | "one tick" | "a change in every part";
const BEFORE_NUMBERS: Readonly<Record<Before, number>> = { nothing: 0, "one tick": 1, "a change in every part": 2 };

interface Run {
  readonly keys: number;
  readonly clients: number;
  readonly atOnce: number;
  readonly repetitions: number;
  readonly before: Before;
  readonly watch?: boolean;
}

/**
 * Snapshots: of 100,000 keys to 200 clients that dial at once and to the first one after a change, and of 100 keys to a
 * thousand, one handshake after the other. Server on core 0, clients on core 1, mutual TLS, reference scaled.
 */
export async function* benchSnapshot(options: TyphaBenchOptions = {}): AsyncGenerator<BenchRow> {
  const repetitions = options.quick === true ? 3 : 5;
  yield* await manyAtOnce(repetitions);
  // After one tick of one key nearly all of a snapshot is still there; the reference then makes all of it anew.
  yield* await firstAfterChange("one tick", repetitions);
  yield* await firstAfterChange("a change in every part", repetitions);
  yield* await longestTurn(repetitions);
  yield* await accepts(options.quick === true ? 1 : 5);
}

async function manyAtOnce(repetitions: number): Promise<BenchRow[]> {
  const clients = 200;
  const { scale, result } = await scaled(() =>
    run({ keys: KEYS, clients, atOnce: clients, repetitions, before: "one tick" }),
  );
  const common = { bench: "snapshot", case: { clients, keys: KEYS, before: "one tick" } };
  const bytes = result.bytes * (1 + TLS_SHARE) + HANDSHAKE_BYTES;
  return [
    row(common, "server CPU", result.cpuMs, "ms CPU per client", reference("snapshotCpuMs", clients) * scale, 0.5),
    row(common, "wall to the last", result.wallMs, "ms", reference("snapshotWallMs", clients) * scale, 0.6),
    row(common, "bytes", bytes / 1e6, "MB per client", reference("snapshotMegabytes"), 0.6),
  ];
}

async function firstAfterChange(before: Before, repetitions: number): Promise<BenchRow[]> {
  const { scale, result } = await scaled(() => run({ keys: KEYS, clients: 1, atOnce: 1, repetitions, before }));
  const common = { bench: "snapshot", case: { clients: 1, keys: KEYS, before } };
  return [
    row(common, "wall to in-sync", result.wallMs, "ms", reference("snapshotWallMs", 1) * scale, 1),
    row(common, "server CPU", result.cpuMs, "ms CPU", reference("snapshotCpuMs", 1) * scale, 1),
  ];
}

/** In runs of their own: a loop that is watched never sleeps. */
async function longestTurn(repetitions: number): Promise<BenchRow[]> {
  const before = "a change in every part";
  const result = await run({ keys: KEYS, clients: 1, atOnce: 1, repetitions, before, watch: true });
  const common = { bench: "snapshot", case: { clients: 1, keys: KEYS, before } };
  return [
    { ...common, metric: "longest pause", value: round(result.longestTurnMs, 1), unit: "ms", limit: 20 },
    // What else runs on the machine does not lengthen this one.
    { ...common, metric: "longest pause", value: round(result.longestTurnCpuMs, 1), unit: "ms CPU", limit: 20 },
  ];
}

async function accepts(servers: number): Promise<BenchRow[]> {
  const keys = 100;
  const clients = 1000;
  const { scale, result } = await scaled(() =>
    medians(servers, () => run({ keys, clients, atOnce: 32, repetitions: 1, before: "nothing" })),
  );
  const common = { bench: "snapshot", case: { clients, keys, atOnce: 32 } };
  return [row(common, "accept to in-sync", result.cpuMs, "ms CPU per client", reference("acceptCpuMs") * scale, 0.85)];
}

type RowStart = Pick<BenchRow, "bench" | "case">;

function row(start: RowStart, metric: string, value: number, unit: string, wanted: number, limit: number): BenchRow {
  const ratio = round(value / wanted, 3);
  return { ...start, metric, value: round(value, 2), unit, reference: round(wanted, 2), ratio, limit };
}

function run({ keys, clients, atOnce, repetitions, before, watch }: Run): Promise<SnapshotFigures> {
  const args = [clients, atOnce, repetitions, BEFORE_NUMBERS[before], watch === true ? 1 : 0];
  return runPair<SnapshotFigures>({ keys, perTick: 1, isLean: true, clients: "snapshot-clients.ts", args });
}
