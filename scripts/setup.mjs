#!/usr/bin/env node
// Makes a clone ready: a newer Node and every package into node_modules, and (--debian) the programs that the tests use.
// Runs on the Node 20 that a machine has; a second run does nothing but compare a stamp.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const PNPM = "12.21.0";
const STAMP = join(ROOT, "node_modules", ".bulrush-stamp");
const BINS = ["node", "pnpm", "tsc", "oxlint", "biome", "knip", "bulrush-typha", "bulrush-agent", "bulrushctl"];

/** Programs that the tests call, with the Debian package of each. */
const PROGRAMS = { nft: "nftables", unshare: "util-linux", openssl: "openssl", chromium: "chromium" };

function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

function manifests() {
  const dirs = ["", "proto", "e2e", ...readdirSync(join(ROOT, "packages")).map((name) => join("packages", name))];
  return dirs.map((dir) => join(ROOT, dir, "package.json")).filter((file) => existsSync(file));
}

function stamp() {
  const hash = createHash("sha256");
  for (const file of [join(ROOT, "pnpm-lock.yaml"), join(ROOT, "pnpm-workspace.yaml"), ...manifests()])
    hash.update(file.slice(ROOT.length)).update("\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

function isReady(want) {
  if (!existsSync(STAMP) || readFileSync(STAMP, "utf8") !== want) return false;
  return BINS.every((bin) => existsSync(join(ROOT, "node_modules", ".bin", bin)));
}

/** Packages and Node into node_modules. Returns false when there was nothing to do. */
function installPackages() {
  const want = stamp();
  if (isReady(want)) return false;
  say("installing packages and Node 24 into node_modules (about 15 s)");
  rmSync(STAMP, { force: true });
  const result = spawnSync("npx", ["--yes", `pnpm@${PNPM}`, "install", "--frozen-lockfile"], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (result.status !== 0) {
    const why =
      result.error === undefined ? result.stderr.trim().split("\n").slice(-8).join("\n") : String(result.error);
    say(`'npx pnpm@${PNPM} install' failed; it needs the npm registry. It said:\n${why}`);
    process.exit(1);
  }
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, want);
  if (!isReady(want)) {
    const missing = BINS.filter((bin) => !existsSync(join(ROOT, "node_modules", ".bin", bin)));
    say(`the installation lacks ${missing.join(", ")}; is this Linux on x64 or arm64?`);
    process.exit(1);
  }
  return true;
}

function hasProgram(name) {
  return (process.env.PATH ?? "").split(":").some((dir) => dir !== "" && existsSync(join(dir, name)));
}

/** Debian packages for the tests; a missing one is a failure only in the tests that need it. */
function installPrograms() {
  const missing = Object.keys(PROGRAMS).filter((name) => !hasProgram(name));
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((name) => PROGRAMS[name]))];
  if (process.getuid?.() !== 0 || !hasProgram("apt-get")) {
    say(`missing programs: ${missing.join(", ")}. Install them: apt-get install ${packages.join(" ")}`);
    return;
  }
  say(`installing Debian packages: ${packages.join(" ")}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { stdio: ["ignore", "ignore", "inherit"], env };
  try {
    execFileSync("apt-get", ["update", "-qq"], options);
    execFileSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], options);
  } catch {
    say(`apt-get failed; the tests that need ${missing.join(", ")} will fail`);
  }
}

/** Everything. `debian`: the programs for the tests too. */
export function setup({ debian = false } = {}) {
  const installed = installPackages();
  if (debian) installPrograms();
  return installed;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const installed = setup({ debian: process.argv.includes("--debian") });
  say(installed ? "done" : "nothing to do");
}
