import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { memoryLogger } from "../log/memory-logger.ts";
import { readSettingsFile } from "./settings-file.ts";
import { settle } from "./settle.ts";

test("settle() tries every second until the settings are good, and says the same thing once", async () => {
  const clock = new ManualClock();
  const logger = memoryLogger();
  const tries: string[] = [];
  const problems = [["a is bad", "b is bad"], ["a is bad", "b is bad"], ["b is bad"], [], []];
  let makes = 0;
  const settled = settle({
    clock,
    logger,
    signal: new AbortController().signal,
    read: () => ({ problems: problems.shift() ?? [] }),
    make() {
      if (++makes === 1) throw new Error("no log file");
      return "made";
    },
    onTry: (_, text) => tries.push(text),
  });
  await clock.advance(3999);
  assert.deepEqual(tries, ["a is bad; b is bad", "a is bad; b is bad", "b is bad", "no log file"]);
  await clock.advance(1);
  assert.deepEqual(await settled, { settings: { problems: [] }, made: "made" });
  assert.equal(tries.at(-1), "");
  assert.deepEqual(
    logger.records.map(({ fields }) => fields["problems"]),
    [["a is bad", "b is bad"], ["b is bad"], ["no log file"]],
  );
});

test("settle() gives nothing when the signal comes first", async () => {
  const controller = new AbortController();
  const options = { clock: new ManualClock(), logger: memoryLogger(), signal: controller.signal, onTry: () => {} };
  const settled = settle({ ...options, read: () => ({ problems: ["bad"] }), make: () => 1 });
  controller.abort(new Error("stopped"));
  assert.equal(await settled, undefined);
});

test("readSettingsFile() takes a missing file for none, and names one that cannot be read", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-settings-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "a.cfg");
  assert.deepEqual(readSettingsFile(path), { text: undefined, problems: [] });
  writeFileSync(path, "A = 1\n");
  assert.deepEqual(readSettingsFile(path), { text: "A = 1\n", problems: [] });
  assert.deepEqual(readSettingsFile(join(path, "below")), { text: undefined, problems: [] });
  assert.match(readSettingsFile(directory).problems[0] ?? "", /^Cannot read ".*": EISDIR/);
});
