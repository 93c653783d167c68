import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import type { Bench, BenchRow } from "./row.ts";

const PROGRAMS: string = join(import.meta.dirname, "..", "..", "..", "packages", "datastore", "bench");
const SIZE = { pods: 100_000, policies: 10_000 } as const;
const QUICK_SIZE = { pods: 10_000, policies: 1000 } as const;

/** CPU, as a multiple of what `JSON.parse` of the same bytes takes. */
const CPU_LIMIT = 4;
const PEAK_LIMIT_MB = 700;
/** Bytes, as a multiple of one full list. */
const BYTES_LIMIT = 1.05;

interface Size {
  readonly pods: number;
  readonly policies: number;
}

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

function rows(base: Pick<BenchRow, "bench" | "case">, floor: Floor, load: Load, bytes: number): BenchRow[] {
  return [
    {
      ...base,
      metric: "cpu",
      value: rounded(load.cpuMs),
      unit: "ms",
      floor: rounded(floor.cpuMs),
      ratio: rounded(load.cpuMs / floor.cpuMs),
      limit: CPU_LIMIT,
    },
    { ...base, metric: "peak-rss", value: rounded(load.peakMB), unit: "MB", limit: PEAK_LIMIT_MB },
    {
      ...base,
      metric: "bytes",
      value: bytes,
      unit: "B",
      floor: floor.bytes,
      ratio: rounded(bytes / floor.bytes),
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
      const floor = run<Floor>("parse-floor.ts", server.port, size.pods, size.policies);
      progress(`JSON.parse of ${(floor.bytes / 1e6).toFixed(0)} MB takes ${(floor.cpuMs / 1000).toFixed(1)} s`);
      for (const lists of ["paged", "streamed"]) {
        await server.sentBytes();
        const load = run<Load>("list-load.ts", server.port, lists);
        // Every endpoint and policy, and three keys for each namespace's profile.
        if (load.values < size.pods + size.policies) throw new Error(`Only ${load.values} values came out`);
        progress(`lists ${lists}: in sync after ${(load.wallMs / 1000).toFixed(1)} s`);
        const base = { bench: "datastore", case: { ...size, lists } };
        for (const row of rows(base, floor, load, await server.sentBytes())) print(row);
      }
    } finally {
      server.stop();
    }
  },
};
