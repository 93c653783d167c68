import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { COMMANDS } from "./commands/table.ts";
import { BIN, runCli, spawnCli } from "./testing/run-cli.ts";

test("the program in bin/ lists its commands, when it is called alone", async () => {
  const { code, out } = await spawnCli([]);
  assert.equal(code, 0);
  for (const { name } of COMMANDS) assert.match(out, new RegExp(`^ {2}${name} `, "m"));
});

test("every command has help with usage, options and examples, also in a line that is wrong", async () => {
  for (const entry of COMMANDS) {
    const command = await entry.load();
    assert.deepEqual([command.name, command.summary], [entry.name, entry.summary]);
    assert.ok(command.examples.length > 0, entry.name);
  }
  const { code, out } = await runCli(["explain", "--nonsense", "--help"]);
  assert.equal(code, 0);
  assert.match(out, /^Usage: bulrushctl explain -f PATH/);
  assert.match(out, /^Examples:\n {2}# /m);
  assert.equal((await runCli(["help", "explain"])).out, out);
});

test("a wrong command line is exit 2 with a hint", async () => {
  assert.equal((await spawnCli(["validate"])).code, 2);
  const rows: readonly [argv: string[], err: RegExp][] = [
    [["explian"], /error: Unknown command "explian"; did you mean explain\?\nTry bulrushctl --help/],
    [["validate"], /error: -f, --file PATH is needed\nTry bulrushctl validate --help/],
    [["convert", "-f", "x", "-o", "xml"], /error: Unknown output format "xml"; this command knows ndjson, json, yaml/],
    [["calc", "--hostname", "h"], /error: -f PATH or --stream is needed/],
  ];
  for (const [argv, err] of rows) {
    const result = await runCli(argv);
    assert.deepEqual([result.code, result.out], [2, ""], argv.join(" "));
    assert.match(result.err, err);
  }
});

test("a reader that goes away ends the program quietly", async () => {
  const child = spawn(process.execPath, ["--conditions=bulrush-source", BIN, "help", "explain"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.destroy();
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.deepEqual([code, err], [0, ""]);
});
