import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { mountTmpfs } from "./posix.ts";

const MARK = "BULRUSH_LAB";

/** True inside the lab's own user, network and mount namespaces. */
export function isInsideLab(): boolean {
  return process.env[MARK] === "1";
}

/**
 * Runs this very program again, inside user, network and mount namespaces of its own, and returns its exit code. The
 * machine's network, mounts and /run stay untouched whatever happens inside, and no root is needed where the kernel
 * lets users make namespaces.
 */
export async function runInsideLab(): Promise<number> {
  const args = [
    "--user",
    "--map-root-user",
    "--net",
    "--mount",
    "--kill-child=SIGTERM",
    process.execPath,
    ...process.execArgv,
    ...process.argv.slice(1),
  ];
  const child = spawn("unshare", args, { stdio: "inherit", env: { ...process.env, [MARK]: "1" } });
  const forward = (signal: NodeJS.Signals): void => {
    child.kill(signal);
  };
  process.on("SIGTERM", forward);
  process.on("SIGINT", () => {}); // the terminal sends it to the child itself
  const failed = once(child, "error").then(([error]) => {
    const why = (error as Error).message;
    process.stderr.write(`Cannot make namespaces: ${why}. 'unshare' (util-linux) is needed.\n`);
    return 1;
  });
  const ended = once(child, "exit").then(
    ([code, signal]) => (code as number | null) ?? (signal === "SIGINT" ? 130 : 1),
  );
  return Promise.race([failed, ended]);
}

/** The first step inside: a private /run, so that sockets and namespace files of the lab are nobody else's. */
export function prepareLab(): void {
  mountTmpfs("/run");
  mkdirSync("/run/netns");
  if (!existsSync("/var/run")) mkdirSync("/var/run", { recursive: true });
}
