import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { calcReference } from "@bulrush/calc/bench";
import { calibrateObjects } from "./calibrate-objects.ts";
import type { Bench, BenchRow } from "./row.ts";

const MAIN: string = join(import.meta.dirname, "..", "..", "..", "packages", "dataplane", "bench", "main.ts");

/**
 * A network namespace: as root in the machine's user namespace where that is allowed, since `nft` needs it to send large
 * rulesets; else as nobody in particular.
 */
export function enterNamespace(): string[] {
  const asRoot = ["unshare", "--net", "--mount"];
  const [program = "", ...words] = asRoot;
  return spawnSync(program, [...words, "true"]).status === 0 ? asRoot : ["unshare", "-Urnm"];
}

/** A bench of packages/dataplane/bench in a process and a network namespace of its own. */
function inNamespace(name: string, summary: string): Bench {
  return {
    name,
    summary,
    async run({ quick, progress }, print) {
      const scale = calibrateObjects() / calcReference().calibrationObjectsMs;
      progress(`This machine takes ${scale.toFixed(2)} times as long as the reference's for work on objects`);
      const node = [process.execPath, "--conditions=bulrush-source", MAIN, name, `--scale=${scale}`];
      const [program = "", ...words] = [...enterNamespace(), ...node, ...(quick ? ["--quick"] : [])];
      const child = spawn(program, words, { stdio: ["ignore", "pipe", "inherit"] });
      const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
      for await (const line of createInterface({ input: child.stdout })) print(JSON.parse(line) as BenchRow);
      const status = await ended;
      if (status !== 0) throw new Error(`The bench ${name} ended with ${status}`);
    },
  };
}

export const dataplaneBench: Bench = inNamespace(
  "dataplane",
  "nf_tables: rendering, changes, read-back, the first program against nft -f, latency of one change",
);

export const churnBench: Bench = inNamespace(
  "churn",
  "a thousand changes a second on a host with 10,000 rules: CPU, and time to the commit",
);

export const largeHostBench: Bench = inNamespace(
  "large-host",
  "500 endpoints under 50 policies each, 2,000 sets: first apply, restart, read-back, memory",
);

export const routesBench: Bench = inNamespace("routes", "routes added, compared and deleted, against ip -batch");
