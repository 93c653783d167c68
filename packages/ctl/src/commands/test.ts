import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { messageOf } from "@bulrush/base";
import type { Arguments } from "../cli/arguments.ts";
import type { Command } from "../cli/command.ts";
import type { CommandIo } from "../cli/io.ts";
import { inputError, usageError } from "../errors.ts";
import { explainerFor } from "../flow/explain-input.ts";
import { readManifestsOf, unreadText } from "../input/manifests.ts";
import { readWorld, type World, WORLD_OPTIONS } from "../input/world.ts";
import { outputFormat, outputOption, printValue } from "../output/format.ts";
import { junitXml, summaryText, testRecord, testText } from "../policy-test/report.ts";
import { runTest } from "../policy-test/run-tests.ts";
import { readTestFile, type TestFile } from "../policy-test/test-file.ts";

const FORMATS = ["text", "json", "yaml", "junit"] as const;

/** bulrushctl test FILE [-f PATH | --live] */
export const testCommand: Command = {
  name: "test",
  summary: "Check that policy does what a file of expectations says",
  usage: ["test FILE [-f PATH | --live] [-o FORMAT]"],
  description: [
    "Judges the connections of a file of tests with the graph that the agents program the kernel from, and compares the verdicts with what the file expects: unit tests for policy, made for CI. FILE is YAML or JSON; its manifests are named beside it, or by -f, or they are those of the datastore (--live).",
    "from and to are what explain takes; protocol is tcp where it is left out; sourcePort, icmpType, icmpCode and ipVersion may stand there too. Lists mean each of these to each of those. by names what decides: a policy as explain does (its last parts are enough), with `, rule 0` for one rule, ` (tier NAME)` for its tier; profile/NAME; or `tier NAME` for the end of a tier. egress and ingress say it of one side; staged is the verdict once staged policies are enforced.",
    "A flow that cannot be judged (there is no such pod) fails its test. Exit code 0: all passed. 1: some failed. 2: the tests cannot be run, or a manifest cannot be read (--live: what the agents have in its place is judged).",
  ],
  sample: [
    "manifests: [cluster/, policies.yaml]",
    "tests:",
    "- name: only the web reaches the database",
    "  from: shop/web",
    "  to: shop/db",
    "  port: 5432",
    "  expect: allow",
    "  by: shop/db-only-from-web",
    "- from: [other/guest, 203.0.113.7]",
    "  to: shop/db",
    "  ports: [5432, 22]",
    "  expect: deny",
    "  ingress: { expect: deny, by: tier default }",
  ],
  options: [...WORLD_OPTIONS, outputOption(FORMATS, "text")],
  examples: [
    { what: "in CI, with a report that it shows", line: "bulrushctl test policy-tests.yaml -o junit > report.xml" },
    { what: "does the cluster do it as things stand now?", line: "bulrushctl test policy-tests.yaml --live" },
    { what: "would it with these policies?", line: "bulrushctl test policy-tests.yaml -f cluster/" },
  ],
  failureCode: 2,
  run: runTestCommand,
};

async function runTestCommand(args: Arguments, io: CommandIo): Promise<number> {
  const format = outputFormat(args, FORMATS, "text");
  const [path, ...more] = args.positionals;
  if (path === undefined || more.length > 0) throw usageError("Name one file of tests: bulrushctl test FILE");
  const file = readTestFile(await readText(path), path);
  const world = await worldOf(file, path, args, io);
  // A policy that is missing opens what it was to deny, and no test may have asked for that.
  const unread = unreadText(world.problems);
  if (unread !== undefined) throw inputError(`The tests cannot be judged: ${unread}`);
  const explainer = await explainerFor(world);
  const results = file.tests.map((test) => runTest(test, explainer));
  switch (format) {
    case "text":
      for (const result of results) await io.out.write(testText(result, io.out));
      await io.out.write(`\n${summaryText(results, io.out)}`);
      break;
    case "junit":
      await io.out.write(junitXml(path, results));
      break;
    default: {
      const passed = results.filter((result) => result.passed).length;
      const tests = results.map((result) => testRecord(path, result));
      await printValue(io.out, format, { passed, failed: results.length - passed, tests });
    }
  }
  return results.every(({ passed }) => passed) ? 0 : 1;
}

/** What the command line names, else what the file does. */
function worldOf(file: TestFile, path: string, args: Arguments, io: CommandIo): Promise<World> {
  if (args.has("file") || args.has("live")) return readWorld(args, io);
  if (file.manifests.length === 0)
    throw usageError(`Nothing to test: give -f PATH or --live, or "manifests" in ${path}`);
  const paths = file.manifests.map((manifest) => resolve(dirname(path), manifest));
  return readManifestsOf(paths, io);
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw inputError(`Cannot read "${path}": ${messageOf(error)}`, error);
  }
}
