import { spawnSync } from "node:child_process";
import type { Spent } from "./row.ts";

/** Runs one of the system's own tools on a file, and says what it took, its part of the kernel included. */
export function runTool(command: string): Spent {
  const { status, stderr } = spawnSync("bash", ["-c", `TIMEFORMAT='%R %U %S'; time ${command}`], {
    encoding: "utf8",
    maxBuffer: 64 * 2 ** 20,
  });
  const line = stderr.trimEnd().split("\n").at(-1) ?? "";
  const [real, user, system] = line.split(" ").map(Number);
  if (status !== 0 || real === undefined || user === undefined || system === undefined)
    throw new Error(`${command} failed: ${stderr.slice(-500)}`);
  return { wallMs: real * 1000, cpuMs: (user + system) * 1000 };
}
