/**
 * npm test [-- [--long] [--once] PATTERN...]: every test of the workspace, ending with the runner's own closing lines.
 *
 * A skip counts as a failure unless its reason begins with a type in brackets that is known here, such as
 * `[kernel] no vrf device`: nothing is left out by accident.
 *
 * Up to three files that fail are run a second time, when nothing else runs. What passes then does not fail the whole,
 * but is counted and told at the end with all that its first try said: each is a fault, of a test or of the product,
 * that depends on time. With --once there is no second try.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import { describeFailures, type FileResult, ResultPrinter, runTestFiles } from "./test-run.ts";

const ROOT = join(import.meta.dirname, "..");
const SKIP_TYPES = ["kernel", "binary", "platform"];
/** More than these are no matter of chance. */
const MAX_SECOND_TRIES = 3;
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

const printer = new ResultPrinter(performance.now());
const problems: string[] = [];
const totals = { passed: 0, failed: 0, skipped: 0 };

function count(result: FileResult): void {
  printer.print(result);
  totals.passed += result.passed;
  totals.failed += result.failures.length;
  totals.skipped += result.skips.length;
  if (result.isCutShort) problems.push(`${result.file}: it ended before all its tests had run, or it has none`);
  for (const { name, reason } of result.skips) {
    const type = /^\[([a-z]+)\] \S/.exec(reason)?.[1];
    if (type === undefined || !SKIP_TYPES.includes(type))
      problems.push(`${result.file}: '${name}' is skipped without a typed reason (${reason || "none"})`);
  }
}

const isGood = ({ failures, isCutShort }: FileResult): boolean => failures.length === 0 && !isCutShort;
const failed: FileResult[] = [];
const countOrKeep = (result: FileResult): void => {
  if (isGood(result)) count(result);
  else failed.push(result);
};
const paths = (some: readonly string[]): string[] => some.map((file) => join(ROOT, file));
await runTestFiles(paths(files.filter((file) => !isHeavy(file))), 2, countOrKeep);
await runTestFiles(paths(files.filter(isHeavy)), 1, countOrKeep);

const isTriedAgain = !args.includes("--once") && failed.length <= MAX_SECOND_TRIES;
const unsteady: FileResult[] = [];
if (!isTriedAgain) for (const result of failed) count(result);
else {
  for (const { file, failures } of failed)
    process.stdout.write(`a second try: ${file}: ${failures.map(({ name }) => name).join("; ")}\n`);
  await runTestFiles(
    failed.map(({ file }) => file),
    1,
    (second) => {
      const first = failed.find(({ file }) => file === second.file);
      if (isGood(second) && first !== undefined) unsteady.push(first);
      count(second);
    },
  );
}

await printer.close(performance.now());
for (const result of unsteady) process.stdout.write(describeFailures(ROOT, result));
for (const problem of problems) process.stderr.write(`${problem}\n`);
const { passed, skipped } = totals;
const sum = `total: ${passed} passed, ${totals.failed + problems.length} failed, ${skipped} skipped`;
process.stdout.write(
  unsteady.length === 0 ? `${sum}\n` : `${sum}; files that needed a second try: ${unsteady.length}\n`,
);
process.exit(totals.failed > 0 || problems.length > 0 ? 1 : 0);
