/**
 * npm run setup:kube: builds kube-apiserver, etcd and etcdctl for the tests that run against real ones. Where they are
 * built already it says so and ends.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  binariesIn,
  BUILD_FLAGS,
  goEnvironment,
  KUBE_PROGRAMS,
  kubeCacheDirectory,
  TOOLS_DIRECTORY,
} from "./binaries.ts";
import { tryLock } from "./build-lock.ts";

const LIMIT_MS = 20 * 60_000;
const PROGRESS_MS = 20_000;
const startedMs = performance.now();

function say(text: string): void {
  process.stderr.write(`setup:kube: ${text}\n`);
}

function fail(text: string): never {
  say(text);
  process.exit(1);
}

function seconds(): string {
  return `${Math.round((performance.now() - startedMs) / 1000)} s`;
}

/** One binary. Undefined when it worked, else what went wrong. */
async function build(output: string, path: string): Promise<string | undefined> {
  // A group of its own: its compilers end with it.
  const child = spawn("go", ["build", ...BUILD_FLAGS, "-o", output, path], {
    cwd: TOOLS_DIRECTORY,
    env: goEnvironment(),
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const stop = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
  process.once("exit", stop);
  let isLate = false;
  const limit = setTimeout(
    () => {
      isLate = true;
      stop();
    },
    LIMIT_MS - (performance.now() - startedMs),
  );
  const progress = setInterval(() => say(`still building ${basename(output)} (${seconds()})`), PROGRESS_MS);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-4000);
  });
  const code = await new Promise<number | undefined>((resolve) => {
    child.once("error", (error) => {
      errors += error.message;
      resolve(undefined);
    });
    child.once("close", (status) => resolve(status ?? undefined));
  });
  clearTimeout(limit);
  clearInterval(progress);
  process.off("exit", stop);
  if (code === 0) return undefined;
  return isLate ? `took longer than ${LIMIT_MS / 60_000} minutes` : errors.trim() || "was ended by a signal";
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

const directory = kubeCacheDirectory();
if (directory === undefined) fail("there is no Go on this machine; install Go 1.26 or newer (https://go.dev/dl)");
if (binariesIn(directory) !== undefined) {
  say("nothing to do");
  process.exit(0);
}

let unlock = await tryLock(basename(directory));
if (unlock === undefined) say("another process is building; waiting for it");
while (unlock === undefined) {
  if (performance.now() - startedMs > LIMIT_MS) fail("the other process did not finish in 20 minutes");
  await sleep(1000);
  unlock = await tryLock(basename(directory));
}
if (binariesIn(directory) !== undefined) {
  say("built by another process");
  process.exit(0);
}

say(
  "building kube-apiserver, etcd and etcdctl from source (the first time: 84 MB from the Go proxy, 5 minutes or more)",
);
mkdirSync(dirname(directory), { recursive: true });
// What a killed build left behind: only the holder of the lock is here.
for (const name of readdirSync(dirname(directory)))
  if (name.startsWith(`${basename(directory)}.`)) rmSync(join(dirname(directory), name), { recursive: true });
const temporary = mkdtempSync(`${directory}.`);
process.on("exit", () => rmSync(temporary, { recursive: true, force: true }));
for (const [name, path] of Object.entries(KUBE_PROGRAMS)) {
  const error = await build(join(temporary, name), path);
  if (error !== undefined) fail(`${name} could not be built:\n${error}`);
  say(`${name} is built (${seconds()})`);
}
rmSync(directory, { recursive: true, force: true });
renameSync(temporary, directory);
say(`done: ${directory}`);
process.exit(0);
