import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { LoadedConfig } from "../config/load.ts";
import { memoryLogger } from "./memory-logger.ts";
import { liveLog } from "./live-log.ts";
import { type LogSettings, openLog } from "./open-log.ts";
import { switchableLogger } from "./switchable-logger.ts";

const directory = mkdtempSync(join(tmpdir(), "bulrush-log-"));
after(() => rmSync(directory, { recursive: true }));

function loaded(values: Partial<LogSettings>, isAskedFor = false): LoadedConfig<LogSettings> {
  return {
    values: {
      LogFilePath: "",
      LogSeverityFile: "INFO",
      LogSeverityScreen: "",
      DebugDisableLogDropping: true,
      ...values,
    },
    origins: new Map(isAskedFor ? [["LogFilePath", { source: "environment", text: "x" }]] : []),
    rejected: new Set(),
    warnings: [],
    errors: [],
  };
}

test("openLog() writes from the severity on into the file", () => {
  const path = join(directory, "a.log");
  const log = openLog("p", loaded({ LogFilePath: path, LogSeverityFile: "WARNING" }), memoryLogger());
  log.info("Too little");
  log.warn("Enough");
  log.close();
  assert.match(readFileSync(path, "utf8"), /^\{"level":"warn".*"program":"p","msg":"Enough"\}\n$/);
});

test("openLog() goes without a default file that cannot be opened, and says so", () => {
  const early = memoryLogger();
  openLog("p", loaded({ LogFilePath: join(directory, "missing", "a.log") }), early).close();
  assert.deepEqual(
    early.records.map(({ message }) => message),
    ["No log file: the default one cannot be opened"],
  );
});

test("openLog() throws where the file was asked for", () => {
  const path = join(directory, "missing", "a.log");
  assert.throws(() => openLog("p", loaded({ LogFilePath: path }, true), memoryLogger()), { code: "SERVICE_LOG_FILE" });
});

test("liveLog() follows its settings, keeps what was counted, and the old log where the new one cannot be opened", () => {
  const path = join(directory, "live.log");
  const first = loaded({ LogFilePath: path, LogSeverityFile: "ERROR" }, true);
  const logger = switchableLogger(memoryLogger());
  const child = logger.child({ part: "x" });
  const live = liveLog("p", logger, { log: openLog("p", first, logger), loaded: first });
  child.info("Too little");
  child.error("One");
  live.update(loaded({ LogFilePath: path, LogSeverityFile: "INFO" }, true));
  child.info("Enough");
  logger.error("Two");
  live.update(loaded({ LogFilePath: join(directory, "missing", "a.log") }, true));
  logger.info("Still here");
  live.flush();
  const messages = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  assert.deepEqual(messages, [
    "One",
    "Enough",
    "Two",
    "Cannot open the log that the settings ask for, the one before stays",
    "Still here",
  ]);
  assert.equal(live.errors, 3);
});
