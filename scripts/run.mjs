#!/usr/bin/env node
// run.mjs [--debian] SCRIPT ARGS...: does the set-up, then runs SCRIPT with the Node of node_modules.
// The `node` that npm starts a script with may be older than what Bulrush needs; this one step is all that it runs.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ROOT, setup } from "./setup.mjs";

const args = process.argv.slice(2);
const debian = args[0] === "--debian";
if (debian) args.shift();
setup({ debian });

const bin = join(ROOT, "node_modules", ".bin");
const child = spawn(join(bin, "node"), ["--conditions=bulrush-source", join(ROOT, args[0]), ...args.slice(1)], {
  stdio: "inherit",
  env: { ...process.env, PATH: `${bin}:${process.env.PATH ?? ""}` },
});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
process.on("SIGINT", () => {}); // the terminal sends it to the child as well
child.on("exit", (code, signal) => {
  process.exit(code ?? (signal === "SIGINT" ? 130 : 1));
});
