import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { LogSink } from "./log-sink.ts";

test("a disk that is full neither holds up who writes, flushes and closes, nor the end of the process", () => {
  const url = new URL("./log-sink.ts", import.meta.url).href;
  const code = `
    import { openSync } from "node:fs";
    import { LogSink } from ${JSON.stringify(url)};
    for (const isAsync of [false, true]) {
      const open = () => new LogSink({ fd: openSync("/dev/full", "a"), isAsync });
      const closed = open();
      closed.write("a line\\n");
      closed.flush();
      closed.close();
      open().write("a line\\n");
    }
    console.log("done");`;
  const args = ["--conditions=bulrush-source", "--input-type=module", "-e", code];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 300_000 });
  assert.deepEqual({ status, stdout }, { status: 0, stdout: "done\n" });
});

test("lines that nothing takes are dropped beyond 1 MiB", () => {
  const sink = new LogSink({ fd: openSync("/dev/full", "a"), isAsync: false });
  const line = `${"x".repeat(65_535)}\n`;
  for (let n = 0; n < 20; n++) sink.write(line);
  assert.equal(sink.dropped, 4);
  sink.close();
});

test("what waits is written once somebody takes it, though 1 MiB has come since", { timeout: 300_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-log-"));
  const path = join(directory, "pipe");
  execFileSync("mkfifo", [path]);
  const open = (flags: number): number => openSync(path, flags | constants.O_NONBLOCK);
  const gone = open(constants.O_RDONLY);
  const sink = new LogSink({ fd: open(constants.O_WRONLY), isAsync: true });
  // EPIPE from now on.
  closeSync(gone);
  const line = `${"x".repeat(65_535)}\n`;
  while (sink.dropped === 0) {
    sink.write(line);
    await setImmediate();
  }
  const reader = open(constants.O_RDONLY);
  try {
    const part = Buffer.alloc(line.length);
    let seen = 0;
    while (seen === 0) {
      sink.write(line);
      await setImmediate();
      try {
        seen = readSync(reader, part);
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
      }
    }
    assert.equal(part.toString("latin1", 0, seen), line.slice(0, seen));
  } finally {
    sink.close();
    closeSync(reader);
    rmSync(directory, { recursive: true });
  }
});

test("a reader that is slow gets all lines, in order", async () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-log-"));
  const path = join(directory, "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const sink = new LogSink({ fd: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), isAsync: true });
  try {
    const lines = Array.from({ length: 3000 }, (_, n) => `${n} ${"x".repeat(90)}\n`);
    for (const line of lines) sink.write(line);
    const expected = lines.join("");
    const part = Buffer.alloc(4096);
    let seen = "";
    while (seen.length < expected.length) {
      await setImmediate();
      try {
        seen += part.toString("latin1", 0, readSync(reader, part));
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
      }
    }
    assert.ok(seen === expected);
    assert.equal(sink.dropped, 0);
  } finally {
    sink.close();
    closeSync(reader);
    rmSync(directory, { recursive: true });
  }
});
