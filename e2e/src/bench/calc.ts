import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CalcCase, calcCases, calcReference, type Figure } from "@bulrush/calc/bench";
import { calibrateObjects } from "./calibrate-objects.ts";
import type { Bench, BenchRow } from "./row.ts";

const MAIN: string = join(import.meta.dirname, "..", "..", "..", "packages", "calc", "bench", "main.ts");

/** One run in a process of its own, on one core where that can be had: a true heap, and nobody beside it. */
function runCase({ name }: CalcCase): readonly Figure[] {
  const node = [process.execPath, "--max-old-space-size=8192", "--conditions=bulrush-source", MAIN, name];
  const command = existsSync("/usr/bin/taskset") ? ["/usr/bin/taskset", "-c", "0", ...node] : node;
  const { status, stdout, stderr } = spawnSync(command[0] ?? "", command.slice(1), { encoding: "utf8" });
  if (status !== 0) throw new Error(`The case ${name} failed: ${stderr.slice(-2000)}`);
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as readonly Figure[];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}

/** The figures of all runs of a case, each metric as one row. `scale`: how much slower this machine is. */
function rows({ name, size }: CalcCase, runs: readonly (readonly Figure[])[], scale: number): BenchRow[] {
  return (runs[0] ?? []).map(({ metric, unit, reference, limit }, at) => {
    const value = median(runs.map((figures) => figures[at]?.value ?? Number.NaN));
    const scaled = reference === undefined ? undefined : reference * (unit === "MB" ? 1 : scale);
    return {
      bench: "calc",
      case: { load: name, ...size },
      metric,
      value: round(value),
      unit,
      ...(scaled !== undefined && { reference: round(scaled), ratio: round(value / scaled) }),
      ...(limit !== undefined && { limit }),
    };
  });
}

export const calcBench: Bench = {
  name: "calc",
  summary: "whole clusters loaded into the calculation graph and changed there, outputs checked: CPU and memory",
  async run({ quick, progress }, print) {
    const { calibrationObjectsMs } = calcReference();
    let before = calibrateObjects() / calibrationObjectsMs;
    progress(`This machine takes ${before.toFixed(2)} times as long as the reference's for work on objects`);
    for (const one of calcCases()) {
      if (quick && !one.quick) continue;
      progress(`running ${one.name}`);
      const runs = Array.from({ length: quick ? 1 : one.runs }, () => runCase(one));
      // What else runs on a machine changes: the long form asks again around each case.
      const after = quick ? before : calibrateObjects() / calibrationObjectsMs;
      for (const row of rows(one, runs, (before + after) / 2)) print(row);
      before = after;
    }
  },
};
