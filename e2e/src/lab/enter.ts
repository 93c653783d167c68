import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { mountTmpfs } from "./posix.ts";

const MARK = "BULRUSH_LAB";

/** True inside the lab's own user, network and mount namespaces. */
export function isInsideLab(): boolean {
  return process.env[MARK] === "1";
}

/** The lab's end of a pipe whose other end the process outside holds: it closes when that one ends or says stop. */
const LIFELINE_FD = 3;

/** How the lab's output reaches the process outside. */
type LabOutput = "inherit" | "pipe";

/**
 * Runs a Node program inside user, network, mount and process namespaces of its own. The machine's network, mounts and
 * /run stay untouched whatever happens inside; no root is needed where the kernel lets users make namespaces; and
 * nothing that was started inside outlives it. `unshare` itself ignores signals while it waits: {@link stopLab}.
 */
export function spawnInsideLab(
  args: readonly string[],
  output: LabOutput,
  env: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  const namespaces = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL"];
  const child = spawn("unshare", [...namespaces, process.execPath, ...args], {
    stdio: [output === "inherit" ? "inherit" : "ignore", output, output, "pipe"],
    env: { ...env, [MARK]: "1" },
  });
  lifelineOf(child).on("error", () => {}); // the lab ended first
  return child;
}

/** Asks the lab to end. */
export function stopLab(child: ChildProcess): void {
  lifelineOf(child).end();
}

function lifelineOf(child: ChildProcess): Writable {
  return child.stdio[LIFELINE_FD] as Writable;
}

/** Runs this very program again inside a lab ({@link spawnInsideLab}), and returns its exit code. */
export async function runInsideLab(): Promise<number> {
  const child = spawnInsideLab([...process.execArgv, ...process.argv.slice(1)], "inherit");
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => stopLab(child));
  const failed = once(child, "error").then(([error]) => {
    const why = (error as Error).message;
    process.stderr.write(`Cannot make namespaces: ${why}. 'unshare' (util-linux) is needed.\n`);
    return 1;
  });
  const ended = once(child, "exit").then(([code]) => (code as number | null) ?? 1);
  return Promise.race([failed, ended]);
}

/** Inside: aborts when the process outside ends, or passes a signal on. */
export function labSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new Error("stopped"));
  const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false });
  lifeline.on("error", stop).on("close", stop).resume().unref();
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, stop);
  return controller.signal;
}

/** The first step inside: a private /run, so that sockets and namespace files of the lab are nobody else's. */
export function prepareLab(): void {
  mountTmpfs("/run");
  mkdirSync("/run/netns");
  if (!existsSync("/var/run")) mkdirSync("/var/run", { recursive: true });
}
