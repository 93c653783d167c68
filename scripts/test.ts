/**
 * npm test [-- PATTERN...]: every test of the workspace, ending with the runner's own closing lines.
 *
 * A skip counts as a failure unless its reason begins with a type in brackets that is known here, such as
 * `[kernel] no vrf device`: nothing is left out by accident.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";

const ROOT = join(import.meta.dirname, "..");
const SKIP_TYPES = ["kernel", "binary", "platform"];
const args = process.argv.slice(2);
const isLong = args.includes("--long");
const patterns = args.filter((arg) => !arg.startsWith("--"));

const all = globSync(
  ["packages/*/src/**/*.test.ts", "proto/src/**/*.test.ts", "e2e/src/**/*.test.ts", "scripts/*.test.ts"],
  {
    cwd: ROOT,
  },
).sort();
const files = patterns.length === 0 ? all : all.filter((file) => patterns.some((pattern) => file.includes(pattern)));
if (files.length === 0) {
  process.stderr.write(`No test file matches ${patterns.join(", ")}\n`);
  process.exit(1);
}
if (isLong) process.env["BULRUSH_LONG_TESTS"] = "1";

/** Tests over real namespaces take the machine for themselves: they run after the others, one at a time. */
const isHeavy = (file: string): boolean => file.startsWith("e2e/");

const problems: string[] = [];
const totals = { passed: 0, failed: 0, skipped: 0 };

async function runFiles(some: readonly string[], concurrency: number): Promise<void> {
  if (some.length === 0) return;
  const stream = run({
    files: some.map((file) => join(ROOT, file)),
    concurrency,
    execArgv: ["--conditions=bulrush-source"],
    // Of a file: all the scenarios are one.
    timeout: 60 * 60_000,
  });
  stream.on("test:fail", () => totals.failed++);
  stream.on("test:pass", (event) => {
    if (event.skip === undefined || event.skip === false) {
      totals.passed++;
      return;
    }
    totals.skipped++;
    const reason = typeof event.skip === "string" ? event.skip : "";
    const type = /^\[([a-z]+)\] \S/.exec(reason)?.[1];
    if (type === undefined || !SKIP_TYPES.includes(type))
      problems.push(`${event.file ?? "?"}: '${event.name}' is skipped without a typed reason (${reason || "none"})`);
  });
  for await (const chunk of stream.compose(spec)) process.stdout.write(chunk as string);
}

await runFiles(
  files.filter((file) => !isHeavy(file)),
  2,
);
await runFiles(files.filter(isHeavy), 1);
for (const problem of problems) process.stderr.write(`${problem}\n`);
const { passed, failed, skipped } = totals;
process.stdout.write(`total: ${passed} passed, ${failed + problems.length} failed, ${skipped} skipped\n`);
process.exit(failed > 0 || problems.length > 0 ? 1 : 0);
