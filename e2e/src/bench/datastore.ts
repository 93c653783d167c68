import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Bench, BenchRow } from "./row.ts";

const PROGRAMS: string = join(import.meta.dirname, "..", "..", "..", "packages", "datastore", "bench");
const SIZE = { pods: 100_000, policies: 10_000 } as const;
const QUICK_SIZE = { pods: 10_000, policies: 1000 } as const;
/**
 * Each figure is the least of so many, taken in turns: what else the machine does makes a figure larger, never smaller,
 * and seldom all of them.
 */
const TURNS = 3;

/** CPU, as a multiple of what `JSON.parse` of the same bytes takes. */
const CPU_LIMIT = 4;
const PEAK_LIMIT_MB = 700;
/** Bytes, as a multiple of one full list. */
const BYTES_LIMIT = 1.05;

interface Size {
  readonly pods: number;
  readonly policies: number;
}

const LISTS = ["paged", "streamed"] as const;

interface Floor {
  readonly cpuMs: number;
  readonly bytes: number;
}

interface Load {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly peakMB: number;
  readonly values: number;
}

interface MeasuredLoad extends Load {
  /** Of all answers of the API server. */
  readonly bytes: number;
}

function nodeArguments(program: string, ...args: readonly (string | number)[]): string[] {
  return ["--conditions=bulrush-source", join(PROGRAMS, program), ...args.map(String)];
}

/** A program in a process of its own: its CPU and memory are those of its work alone. Its last line is its answer. */
function run<T>(program: string, ...args: readonly (string | number)[]): T {
  const { status, stdout, stderr } = spawnSync(process.execPath, nodeArguments(program, ...args), { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} failed: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as T;
}

/** The API server of the bench. It makes its objects while it sends them: it is slow, which nobody measures. */
class ApiServer {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  port = "";

  constructor({ pods, policies }: Size) {
    const args = nodeArguments("api-server.ts", pods, policies);
    this.#child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout as NonNullable<ChildProcess["stdout"]> });
  }

  async start(): Promise<void> {
    this.port = await this.#line();
  }

  /** Bytes of all answers since the last call. */
  async sentBytes(): Promise<number> {
    const line = this.#line();
    this.#child.stdin?.write("\n");
    return Object.values(JSON.parse(await line) as Record<string, number>).reduce((sum, bytes) => sum + bytes, 0);
  }

  stop(): void {
    this.#child.stdin?.end();
  }

  async #line(): Promise<string> {
    const [line] = (await once(this.#lines, "line")) as [string];
    return line;
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function least(figures: readonly number[]): number {
  return figures.reduce((low, figure) => Math.min(low, figure), Infinity);
}

/** CPU at its least, memory and bytes at their most. */
function rows(
  base: Pick<BenchRow, "bench" | "case">,
  floors: readonly Floor[],
  loads: readonly MeasuredLoad[],
  isQuick: boolean,
): BenchRow[] {
  const cpuMs = least(loads.map((load) => load.cpuMs));
  const floorMs = least(floors.map((floor) => floor.cpuMs));
  const listBytes = floors[0]?.bytes ?? 0;
  const bytes = Math.max(...loads.map((load) => load.bytes));
  const peakMB = Math.max(...loads.map((load) => load.peakMB));
  return [
    {
      ...base,
      metric: "cpu",
      value: rounded(cpuMs),
      unit: "ms",
      floor: rounded(floorMs),
      ratio: rounded(cpuMs / floorMs),
      // A short run is half compiling and connecting.
      ...(!isQuick && { limit: CPU_LIMIT }),
    },
    { ...base, metric: "peak-rss", value: rounded(peakMB), unit: "MB", limit: PEAK_LIMIT_MB },
    {
      ...base,
      metric: "bytes",
      value: bytes,
      unit: "B",
      floor: listBytes,
      ratio: rounded(bytes / listBytes),
      limit: BYTES_LIMIT,
    },
  ];
}

export const datastoreBench: Bench = {
  name: "datastore",
  summary: "a cluster's pods and policies listed from an API server and converted: CPU, peak memory, bytes",
  async run({ quick, progress }, print) {
    const size = quick ? QUICK_SIZE : SIZE;
    const server = new ApiServer(size);
    try {
      await server.start();
      const floors: Floor[] = [];
      const loads = new Map(LISTS.map((lists) => [lists, [] as MeasuredLoad[]]));
      for (let turn = 1; turn <= TURNS; turn++) {
        const floor = run<Floor>("parse-floor.ts", server.port, size.pods, size.policies);
        floors.push(floor);
        progress(`${turn}: JSON.parse of ${(floor.bytes / 1e6).toFixed(0)} MB takes ${seconds(floor.cpuMs)} of CPU`);
        for (const [lists, measured] of loads) {
          await server.sentBytes();
          const load = run<Load>("list-load.ts", server.port, lists);
          // Every endpoint and policy, and three keys for each namespace's profile.
          if (load.values < size.pods + size.policies) throw new Error(`Only ${load.values} values came out`);
          measured.push({ ...load, bytes: await server.sentBytes() });
          progress(`${turn}: ${lists} in sync after ${seconds(load.wallMs)}, ${seconds(load.cpuMs)} of CPU`);
        }
      }
      for (const [lists, measured] of loads)
        for (const row of rows({ bench: "datastore", case: { ...size, lists } }, floors, measured, quick)) print(row);
    } finally {
      server.stop();
    }
  },
};
