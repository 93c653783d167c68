import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { reference } from "./reference.ts";
import { median } from "./row.ts";

/** Certificates of the tests; what is built has none. */
const CERTIFICATES = join(import.meta.dirname, "../src/testing/certificates");
const SERVER_CORE = 0;
const CLIENT_CORE = 1;

/** What a server and its clients are started with. */
export interface PairOptions {
  /** Keys in the cache, and how many of them a tick changes. */
  readonly keys: number;
  readonly perTick: number;
  /** The program of the clients, beside this file. It is told the control path and the server's two ports first. */
  readonly clients: string;
  readonly args: readonly number[];
  /** The server keeps nothing but what is its own: for memory. */
  readonly isLean?: boolean;
}

/** Runs the server on one core and the clients on the other, and gives the line of JSON that the clients print. */
export async function runPair<T>({ keys, perTick, clients, args, isLean = false }: PairOptions): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-bench-"));
  const controlPath = join(directory, "control");
  const server = startServer([controlPath, CERTIFICATES, String(keys), String(perTick), ...(isLean ? ["lean"] : [])]);
  try {
    const ports = (await firstLine(server)).split(" ");
    const driver = start(CLIENT_CORE, clients, [controlPath, ...ports, ...args.map(String)]);
    try {
      return JSON.parse(await firstLine(driver)) as T;
    } finally {
      driver.kill();
    }
  } finally {
    server.kill();
    rmSync(directory, { recursive: true });
  }
}

/**
 * How many times as long as the reference's machine this one takes for small writes, now: on a shared machine that
 * changes from minute to minute. On the server's core.
 */
export async function socketScale(): Promise<number> {
  const child = start(SERVER_CORE, "calibrate.ts", []);
  return Number(await firstLine(child)) / reference("calibrationSocketMs");
}

/** Runs `work` between two calibrations and gives their mean with its result. */
export async function scaled<T>(work: () => Promise<T>): Promise<{ readonly scale: number; readonly result: T }> {
  const before = await socketScale();
  const result = await work();
  return { scale: (before + (await socketScale())) / 2, result };
}

/** Runs `work` so many times and gives the median of what each field came to. */
export async function medians<K extends string>(
  times: number,
  work: () => Promise<Readonly<Record<K, number>>>,
): Promise<Readonly<Record<K, number>>> {
  const runs: Readonly<Record<K, number>>[] = [];
  for (let i = 0; i < times; i++) runs.push(await work());
  const names = Object.keys(runs[0] ?? {}) as K[];
  return Object.fromEntries(names.map((name) => [name, median(runs.map((run) => run[name]))])) as Record<K, number>;
}

let isBuilt = false;

/** The server as it ships: built. What Node needs to run TypeScript as it is takes 30 MB, and is in no image. */
function startServer(args: readonly string[]): ChildProcess {
  const root = join(import.meta.dirname, "../../..");
  if (!isBuilt) {
    // The standard output is for rows.
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-b", "packages/typha"], { cwd: root, stdio: ["ignore", 2, 2] });
    isBuilt = true;
  }
  return startNode(SERVER_CORE, [join(root, "packages/typha/dist/bench/server.js"), ...args]);
}

/** A process of this bench, from its source. */
function start(core: number, file: string, args: readonly string[]): ChildProcess {
  return startNode(core, ["--conditions=bulrush-source", join(import.meta.dirname, file), ...args]);
}

/** On one core, where the machine has several and can pin. */
function startNode(core: number, args: readonly string[]): ChildProcess {
  const node = [process.execPath, "--expose-gc", ...args];
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
