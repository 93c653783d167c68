import { spawn } from "node:child_process";
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

/**
 * Runs this very program again, inside user, network, mount and process namespaces of its own, and returns its exit
 * code. The machine's network, mounts and /run stay untouched whatever happens inside; no root is needed where the
 * kernel lets users make namespaces; and nothing that was started inside outlives it.
 */
export async function runInsideLab(): Promise<number> {
  const namespaces = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL"];
  const args = [...namespaces, process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const child = spawn("unshare", args, {
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { ...process.env, [MARK]: "1" },
  });
  // `unshare` itself ignores signals while it waits, so the lab is told through the pipe.
  const lifeline = child.stdio[LIFELINE_FD] as Writable;
  lifeline.on("error", () => {}); // the lab ended first
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => lifeline.end());
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
