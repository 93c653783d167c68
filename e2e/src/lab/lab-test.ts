import assert from "node:assert/strict";
import { basename } from "node:path";
import { test, type TestContext } from "node:test";
import { isInsideLab, labSignal, prepareLab, spawnInsideLab, stopLab } from "./enter.ts";

const TIMEOUT_MS = 600_000;

/**
 * Tests that need a lab. The test file starts itself again inside one, and `define` registers its tests there only, with
 * `test`, `before` and `after` of node:test. Their results come back as subtests, each with its own message.
 *
 * A machine that lets nobody make namespaces fails the test: nothing here is skipped.
 */
export function labTests(file: string, define: () => void): void {
  if (isInsideLab()) {
    labSignal().addEventListener("abort", () => process.exit(1));
    prepareLab();
    define();
    return;
  }
  void test(`${basename(file)} in a lab of its own`, { timeout: TIMEOUT_MS }, async (context) => {
    const { output, status } = await runFile(file, context.signal);
    // TAP: each result line has its details below it.
    const results = output.split(/^(?=(?:not )?ok \d+ - )/m).slice(1);
    assert.ok(results.length > 0, `No tests ran:\n${output}`);
    for (const result of results) await report(context, result);
    assert.equal(status, 0, `A test failed, or the process did:\n${output.slice(-2000)}`);
  });
}

async function report(context: TestContext, result: string): Promise<void> {
  const [line = ""] = result.split("\n", 1);
  const name = line.replace(/^(not )?ok \d+ - /, "");
  await context.test(name, () => {
    assert.ok(!/# (SKIP|TODO)/.test(name), `Skipped: ${name}`);
    if (line.startsWith("not ")) assert.fail(result);
  });
}

function runFile(file: string, signal: AbortSignal): Promise<{ output: string; status: number | null }> {
  // Under a test runner there are dozens of options; only this one says which code runs.
  const options = process.execArgv.filter((option) => option.startsWith("--conditions"));
  // What is set for the children of a test runner: they would report to it instead of to us.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawnInsideLab([...options, "--test-reporter=tap", file], "pipe", env);
  signal.addEventListener("abort", () => stopLab(child));
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ output, status }));
  });
}
