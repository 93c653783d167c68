import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CalcLoad, calcLoads, calcReference, type LoadResult } from "@bulrush/calc/bench";
import { calibrateObjects } from "./calibrate-objects.ts";
import type { Bench, BenchRow } from "./row.ts";

const MAIN: string = join(import.meta.dirname, "..", "..", "..", "packages", "calc", "bench", "main.ts");
const REPEATS = 3;
/** Loads of the short form: the smallest of each family. */
const QUICK: readonly string[] = ["isolated-customers-1k", "isolated-customers-10k"];

type Figures = Omit<LoadResult, "graph">;

/** One load in a process of its own, on one core where that can be had: a true heap, and nobody beside it. */
function runLoad(load: CalcLoad): Figures {
  const node = [
    process.execPath,
    "--expose-gc",
    "--max-old-space-size=8192",
    "--conditions=bulrush-source",
    MAIN,
    load.name,
  ];
  const command = existsSync("/usr/bin/taskset") ? ["/usr/bin/taskset", "-c", "0", ...node] : node;
  const { status, stdout, stderr } = spawnSync(command[0] ?? "", command.slice(1), { encoding: "utf8" });
  if (status !== 0) throw new Error(`The load ${load.name} failed: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Figures;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}

function rows(load: CalcLoad, runs: readonly Figures[], scale: number): BenchRow[] {
  const cpu = median(runs.map(({ cpuMs }) => cpuMs));
  const heap = median(runs.map(({ heapMB }) => heapMB));
  const { reference } = load;
  const base = { bench: "calc", case: { load: load.name, ...load.size } };
  const cpuReference = reference.cpuMs * scale;
  return [
    {
      ...base,
      metric: "cpu",
      value: round(cpu),
      unit: "ms",
      reference: round(cpuReference),
      ratio: round(cpu / cpuReference),
      ...(reference.limits?.cpu === undefined ? {} : { limit: reference.limits.cpu }),
    },
    {
      ...base,
      metric: "live-heap",
      value: round(heap),
      unit: "MB",
      reference: reference.heapMB,
      ratio: round(heap / reference.heapMB),
      ...(reference.limits?.heap === undefined ? {} : { limit: reference.limits.heap }),
    },
  ];
}

export const calcBench: Bench = {
  name: "calc",
  summary: "whole clusters loaded into the calculation graph, outputs checked, CPU and live heap",
  async run({ quick, progress }, print) {
    const scale = calibrateObjects() / calcReference().calibrationObjectsMs;
    progress(`This machine takes ${scale.toFixed(2)} times as long as the reference's for work on objects`);
    for (const load of calcLoads().filter(({ name }) => !quick || QUICK.includes(name))) {
      progress(`loading ${load.name}`);
      const runs = Array.from({ length: quick ? 1 : REPEATS }, () => runLoad(load));
      for (const row of rows(load, runs, scale)) print(row);
    }
  },
};
