import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { calibrateSocket } from "./calibrate.ts";
import reference from "./reference.json" with { type: "json" };
import { type BenchRow, median, round } from "./row.ts";

export type { BenchRow };

export interface FanOutBenchOptions {
  /** Fewer messages and repetitions: the figure is rough. */
  readonly quick?: boolean;
}

interface FanOutCase {
  readonly clients: number;
  readonly perTick: number;
  /** Client-messages in one repetition. */
  readonly messages: number;
  /** Bounds of the ratios to the reference and to the floor. */
  readonly limit: number;
  readonly floorLimit?: number;
  readonly bytesLimit?: number;
}

const KEYS = 10_000;
/** Header, content type and tag of a TLS 1.3 record (RFC 8446 section 5.2): each message is one. */
const TLS_RECORD_BYTES = 22;
const CASES: readonly FanOutCase[] = [
  { clients: 100, perTick: 1, messages: 50_000, limit: 0.55, floorLimit: 1.35, bytesLimit: 0.8 },
  { clients: 500, perTick: 1, messages: 20_000, limit: 0.5, floorLimit: 1.25 },
  { clients: 1000, perTick: 1, messages: 15_000, limit: 0.45, floorLimit: 1.25 },
  { clients: 1000, perTick: 10, messages: 15_000, limit: 0.32, bytesLimit: 0.8 },
  { clients: 1000, perTick: 50, messages: 15_000, limit: 0.18, bytesLimit: 0.8 },
];
/** Ticks of one repetition with a single client, where all that is not per client shows. */
const TICK_COST = { clients: 1, perTick: 50, messages: 2000, limit: 0.5 };

/**
 * Server CPU per client and message in lock-step, mutual TLS, the server on core 0 and the clients on core 1; beside
 * it, from the same run, the floor (one shared buffer of the same size, written raw to as many sockets) and the
 * reference system's figure, scaled to this machine.
 */
export async function* benchFanOut(options: FanOutBenchOptions = {}): AsyncGenerator<BenchRow> {
  const quick = options.quick === true;
  const scale = (await calibrateSocket()) / reference.calibrationSocketMs;
  for (const each of CASES) yield* await runCase(each, quick, scale);
  yield await runTickCost(quick, scale);
}

async function runCase(each: FanOutCase, quick: boolean, scale: number): Promise<BenchRow[]> {
  const { clients, perTick, floorLimit, bytesLimit } = each;
  const ticks = Math.ceil((quick ? each.messages / 5 : each.messages) / clients);
  const result = await measure(clients, perTick, ticks, quick ? 3 : 5);
  const value = round(median(result.ours), 2);
  const floor = round(median(result.floor), 2);
  const wanted = round(referenceOf("fanOutMicroseconds", clients, perTick) * scale, 2);
  const common = {
    bench: "fanout",
    case: { clients, perTick, keys: KEYS },
    unit: "us CPU per client x message",
    value,
    floor,
  };
  const ratio = round(value / wanted, 3);
  const rows: BenchRow[] = [{ ...common, metric: "server CPU", reference: wanted, ratio, limit: each.limit }];
  if (floorLimit !== undefined) {
    const metric = "server CPU against the floor";
    rows.push({ ...common, metric, ratio: round(value / floor, 3), limit: floorLimit });
  }
  if (bytesLimit === undefined) return rows;
  const bytes = result.bytes + TLS_RECORD_BYTES;
  const wantedBytes = referenceOf("bytesPerMessage", perTick);
  rows.push({
    bench: "fanout",
    case: common.case,
    metric: "bytes",
    value: round(bytes, 0),
    unit: "bytes per client x message",
    reference: wantedBytes,
    ratio: round(bytes / wantedBytes, 3),
    limit: bytesLimit,
  });
  return rows;
}

async function runTickCost(quick: boolean, scale: number): Promise<BenchRow> {
  const { clients, perTick, messages, limit } = TICK_COST;
  const { ours } = await measure(clients, perTick, quick ? messages / 5 : messages, quick ? 3 : 5);
  const value = round(median(ours), 1);
  const wanted = round(referenceOf("tickMicroseconds", perTick) * scale, 1);
  return {
    bench: "fanout",
    case: { clients, perTick, keys: KEYS },
    metric: "fixed cost of a tick",
    value,
    unit: "us CPU per tick",
    reference: wanted,
    ratio: round(value / wanted, 3),
    limit,
  };
}

/** A figure of the reference system. */
function referenceOf(table: keyof typeof reference, ...keys: readonly number[]): number {
  let at: unknown = reference[table];
  for (const key of keys) at = (at as Readonly<Record<string, unknown>>)[String(key)];
  return at as number;
}

interface Measured {
  readonly ours: readonly number[];
  readonly floor: readonly number[];
  readonly bytes: number;
}

async function measure(clients: number, perTick: number, ticks: number, repetitions: number): Promise<Measured> {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-bench-"));
  const controlPath = join(directory, "control");
  const server = start(0, "fan-out-server.ts", [controlPath, String(KEYS), String(perTick)]);
  try {
    const [syncPort = "", floorPort = ""] = (await firstLine(server)).split(" ");
    const args = [controlPath, syncPort, floorPort, String(clients), String(ticks), String(repetitions)];
    const driver = start(1, "fan-out-clients.ts", args);
    try {
      return JSON.parse(await firstLine(driver)) as Measured;
    } finally {
      driver.kill();
    }
  } finally {
    server.kill();
    rmSync(directory, { recursive: true });
  }
}

/** A process of this bench on one core, where the machine has several and can pin. */
function start(core: number, file: string, args: readonly string[]): ChildProcess {
  const node = [
    process.execPath,
    "--conditions=bulrush-source",
    "--expose-gc",
    join(import.meta.dirname, file),
    ...args,
  ];
  const [command = "", ...rest] = availableParallelism() > 1 ? ["taskset", "-c", String(core), ...node] : node;
  return spawn(command, rest, { stdio: ["ignore", "pipe", "inherit"] });
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("No output to read");
  const lines = createInterface(child.stdout);
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`A bench process ended with ${String(code)} before its result`);
  });
  ended.catch(() => {});
  const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
  return line;
}
