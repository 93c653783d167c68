/** npm run check: everything of the gate but the tests. Prints one line a step, and a step's output when it fails. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const bin = (name: string): string => join(ROOT, "node_modules", ".bin", name);

const STEPS: readonly (readonly [string, readonly string[]])[] = [
  ["types", [bin("tsc"), "-b"]],
  ["lint", [bin("oxlint"), "--type-aware"]],
  ["format", [bin("biome"), "format", "."]],
  ["layers", [bin("node"), "--conditions=bulrush-source", "scripts/check-layers.ts"]],
  ["unused code", [bin("knip"), "--no-progress"]],
];

let failures = 0;
for (const [name, command] of STEPS) {
  const startMs = performance.now();
  const result = spawnSync(command[0] ?? "", command.slice(1), { cwd: ROOT, encoding: "utf8" });
  const ok = result.status === 0;
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  process.stdout.write(`${ok ? "ok    " : "FAILED"} ${name} (${seconds} s)\n`);
  if (ok) continue;
  failures++;
  process.stdout.write(`${result.stdout ?? ""}${result.stderr ?? ""}${result.error?.message ?? ""}\n`);
}
process.exit(failures > 0 ? 1 : 0);
