import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { skipWithoutKube } from "../kube/binaries.ts";
import { SCENARIOS } from "./registry.ts";

const IS_LONG: boolean = process.env["BULRUSH_LONG_TESTS"] === "1";

/** Each scenario runs as a user would run it, in its short form (the long tests take the whole of it). */
for (const { name, summary, needsKube = false } of SCENARIOS) {
  test(`${name}: ${summary}`, { skip: needsKube && skipWithoutKube() }, () => {
    const args = [
      "--conditions=bulrush-source",
      join(import.meta.dirname, "main.ts"),
      name,
      ...(IS_LONG ? [] : ["--quick"]),
    ];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 15 * 60_000 });
    assert.equal(status, 0, `${stderr.slice(-6000)}\n${stdout.slice(-500)}`);
    const last = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as { scenario: string; passed: boolean };
    assert.deepEqual([last.scenario, last.passed], [name, true]);
  });
}

test("main lists every scenario and refuses one that is not there", () => {
  const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, ["--conditions=bulrush-source", join(import.meta.dirname, "main.ts"), ...args], {
      encoding: "utf8",
    });
  const listed = run("--list");
  assert.equal(listed.status, 0);
  for (const { name } of SCENARIOS) assert.ok(listed.stdout.includes(name));
  const wrong = run("no-such");
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /There is no scenario 'no-such'/);
});
