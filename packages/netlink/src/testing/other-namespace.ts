import { spawn } from "node:child_process";

/** A new network namespace, held by a child process that ends with `done`. Inside `kernelTests` only. */
export async function otherNamespace(): Promise<{ readonly path: string; readonly done: () => void }> {
  const child = spawn("unshare", ["-n", "sh", "-c", "echo ready; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return { path: `/proc/${child.pid}/ns/net`, done: () => child.stdin.end() };
}
