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
  readonly floorLimit: number;
  readonly bytesLimit: number;
}

const KEYS = 10_000;
/** Header, content type and tag of a TLS 1.3 record (RFC 8446 section 5.2): each message is one. */
const TLS_RECORD_BYTES = 22;
const CASES: readonly FanOutCase[] = [
  { clients: 100, perTick: 1, messages: 50_000, limit: 0.55, floorLimit: 1.35, bytesLimit: 0.8 },
];

/**
 * Server CPU per client and message in lock-step, mutual TLS, the server on core 0 and the clients on core 1; beside
 * it, from the same run, the floor (one shared buffer of the same size, written raw to as many sockets) and the
 * reference system's figure, scaled to this machine.
 */
export async function benchFanOut(options: FanOutBenchOptions = {}): Promise<BenchRow[]> {
  const quick = options.quick === true;
  const scale = (await calibrateSocket()) / reference.calibrationSocketMs;
  const rows: BenchRow[] = [];
  for (const each of CASES) rows.push(...(await runCase(each, quick, scale)));
  return rows;
}

async function runCase(each: FanOutCase, quick: boolean, scale: number): Promise<BenchRow[]> {
  const { clients, perTick } = each;
  const ticks = Math.ceil((quick ? each.messages / 5 : each.messages) / clients);
  const result = await measure(clients, perTick, ticks, quick ? 3 : 5);
  const sizes = { clients, perTick, keys: KEYS };
  const value = round(median(result.ours), 2);
  const floor = round(median(result.floor), 2);
  const byPerTick = (reference.fanOutMicroseconds as Record<string, unknown>)[String(clients)] as Record<
    string,
    number
  >;
  const wanted = round((byPerTick[String(perTick)] ?? Number.NaN) * scale, 2);
  const wantedBytes = (reference.bytesPerMessage as Record<string, unknown>)[String(perTick)] as number;
  const bytes = result.bytes + TLS_RECORD_BYTES;
  const unit = "us CPU per client x message";
  const bench = "fanout";
  return [
    {
      bench,
      case: sizes,
      metric: "server CPU",
      value,
      unit,
      floor,
      reference: wanted,
      ratio: round(value / wanted, 3),
      limit: each.limit,
    },
    {
      bench,
      case: sizes,
      metric: "server CPU against the floor",
      value,
      unit,
      floor,
      ratio: round(value / floor, 3),
      limit: each.floorLimit,
    },
    {
      bench,
      case: sizes,
      metric: "bytes",
      value: round(bytes, 0),
      unit: "bytes per client x message",
      reference: wantedBytes,
      ratio: round(bytes / wantedBytes, 3),
      limit: each.bytesLimit,
    },
  ];
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
