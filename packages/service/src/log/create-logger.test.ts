import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CodedError } from "@bulrush/base";
import { createLogger, type RootLogger } from "./create-logger.ts";
import type { LogLevel } from "./logger.ts";

function capture(level: LogLevel): { logger: RootLogger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    program: "test",
    outputs: [{ to: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) }, level }],
  });
  return { logger, lines };
}

test("createLogger() writes one JSON object a line with level, time, program and fields", () => {
  const { logger, lines } = capture("info");
  logger.info("Client connected", { peer: "10.0.0.7", lag: 3 });
  const { time, ...rest } = lines[0] ?? {};
  assert.deepEqual(rest, { level: "info", program: "test", peer: "10.0.0.7", lag: 3, msg: "Client connected" });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test("createLogger() writes to each output what is severe enough for it", () => {
  const seen: string[] = [];
  const logger = createLogger({
    program: "test",
    outputs: [
      { to: { write: (line) => seen.push(`a ${(JSON.parse(line) as { msg: string }).msg}`) }, level: "debug" },
      { to: { write: (line) => seen.push(`b ${(JSON.parse(line) as { msg: string }).msg}`) }, level: "error" },
    ],
  });
  logger.debug("One");
  logger.error("Two");
  assert.deepEqual(seen.sort(), ["a One", "a Two", "b Two"]);
  assert.equal(logger.isEnabled("debug"), true);
  assert.equal(logger.errors, 1);
});

test("createLogger() counts errors that no output shows", () => {
  const logger = createLogger({ program: "test", outputs: [] });
  logger.error("Unseen");
  logger.child({ part: "x" }).fatal("Unseen too");
  assert.equal(logger.errors, 2);
  assert.equal(logger.isEnabled("fatal"), false);
});

test("child() adds its fields to each line", () => {
  const { logger, lines } = capture("info");
  logger.child({ part: "server" }).child({ peer: "a" }).warn("Slow");
  assert.deepEqual([lines[0]?.["part"], lines[0]?.["peer"]], ["server", "a"]);
});

test("fields are cleaned: errors, maps, secrets, depth, cycles", () => {
  const { logger, lines } = capture("info");
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  logger.info("All kinds", {
    error: new CodedError("Read failed", { code: "X_READ", op: "Read", data: { file: "f", token: "t0p" } }),
    labels: new Map([["app", "web"]]),
    set: new Set([1]),
    big: 10n,
    bytes: new Uint8Array(3),
    password: "hunter2",
    nested: { EtcdPassword: "hunter2", keyFile: "/etc/key" },
    missing: undefined,
    cycle,
  });
  const line = lines[0] ?? {};
  const { stack, ...error } = line["error"] as Record<string, unknown>;
  assert.deepEqual(error, {
    name: "CodedError",
    message: "Read failed",
    code: "X_READ",
    op: "Read",
    data: { file: "f", token: "(redacted)" },
  });
  assert.match(String(stack), /create-logger\.test/);
  assert.deepEqual(line["labels"], { app: "web" });
  assert.deepEqual([line["set"], line["big"], line["bytes"], line["password"]], [[1], "10", "(3 bytes)", "(redacted)"]);
  assert.deepEqual(line["nested"], { EtcdPassword: "(redacted)", keyFile: "/etc/key" });
  assert.ok(!("missing" in line));
  assert.match(JSON.stringify(line["cycle"]), /\(deeper\)/);
});

test("createLogger() appends to a file and closes it", () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-log-"));
  try {
    const path = join(directory, "x.log");
    for (const message of ["First", "Second"]) {
      const logger = createLogger({ program: "test", outputs: [{ to: { file: path }, level: "info" }] });
      logger.info(message);
      logger.close();
    }
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
      ["First", "Second"],
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("createLogger() throws with the path, when the file cannot be opened", () => {
  assert.throws(
    () => createLogger({ program: "test", outputs: [{ to: { file: "/nonexistent/dir/x.log" }, level: "info" }] }),
    { code: "SERVICE_LOG_FILE", message: /^Open log file "\/nonexistent\/dir\/x\.log"/ },
  );
});
