import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { basename } from "node:path";
import { test, type TestContext } from "node:test";

const MARK = "BULRUSH_KERNEL_TESTS";
const TIMEOUT_MS = 600_000;

/**
 * Runs tests against the real kernel, without touching the machine's own network: the test file starts itself again
 * under `unshare -Urnm` (a user, network and mount namespace of its own; no root needed), and `define` registers its
 * tests there only. Their results come back as subtests.
 *
 * A kernel without user namespaces fails the test: nothing here is skipped.
 */
export function kernelTests(file: string, define: () => void): void {
  if (process.env[MARK] === file) {
    define();
    return;
  }
  void test(`${basename(file)} in a network namespace of its own`, { timeout: TIMEOUT_MS }, async (context) => {
    const { output, status } = await runInside(file, context.signal);
    // Each result line has its details below it.
    const results = output.split(/^(?=(?:not )?ok \d+ - )/m).slice(1);
    assert.ok(results.length > 0, `No tests ran:\n${output}`);
    for (const result of results) await report(context, result);
    assert.equal(status, 0, "A test failed, or the process did");
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

function runInside(file: string, signal: AbortSignal): Promise<{ output: string; status: number | null }> {
  const path = `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`;
  const env: NodeJS.ProcessEnv = { ...process.env, [MARK]: file, PATH: path };
  // Set for the children of a test runner: they would report to it instead of to us.
  delete env["NODE_TEST_CONTEXT"];
  // Under a test runner there are dozens of options; only this one says which code runs.
  const options = process.execArgv.filter((option) => option.startsWith("--conditions"));
  const args = ["-Urnm", process.execPath, ...options, "--test-reporter=tap", file];
  const child = spawn("unshare", args, { env, stdio: ["ignore", "pipe", "pipe"], signal });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ output, status }));
  });
}
